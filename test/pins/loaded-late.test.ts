import { createRequire } from "node:module";
import { expect, test, vi } from "vitest";
import { connect } from "../../src/client/index.ts";
import { serve } from "../../src/server/index.ts";

const mcp = vi.hoisted(() => ({ isLoaded: false }));
vi.mock("@modelcontextprotocol/server", async (original) => {
  mcp.isLoaded = true;
  return await original();
});

const { cache } = createRequire(import.meta.url);
const loaded = (): boolean => Object.keys(cache).some((path) => path.includes("/@nats-io/"));

test("a server and a client load the library of NATS for a fleet, and only then", async () => {
  const server = await serve({ environment: process.env });
  const host = await connect(server.url);
  expect((await host.run(["echo", "hello"])).stdout).toBe("hello\n");
  await host.close();
  await server.close();
  expect(loaded()).toBe(false);
  await expect(connect({ fleet: { servers: "nats://127.0.0.1:1" }, id: "a" })).rejects.toThrow(
    "failed to connect to NATS",
  );
  expect(loaded()).toBe(true);
});

test("a server loads the library of the Model Context Protocol if it serves it, and only then", async () => {
  const authentication = { mode: "capability-token", tokenSha256: Buffer.alloc(32) } as const;
  await using plain = await serve({ authentication });
  expect((await fetch(plain.url.replace("ws:", "http:") + "/mcp", { method: "POST" })).status).toBe(404);
  expect(mcp.isLoaded).toBe(false);
  await using server = await serve({ authentication, mcp: true });
  expect((await fetch(server.url.replace("ws:", "http:") + "/mcp", { method: "POST" })).status).toBe(401);
  expect(mcp.isLoaded).toBe(true);
});
