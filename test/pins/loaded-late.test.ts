import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { serve } from "../../src/server/index.ts";

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
