import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { freePort } from "../../../test/fixtures/free-port.ts";
import { attach } from "./attach.ts";
import { serve, type ServeOptions } from "./serve.ts";

let directory = "";
let taken: Server;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "exec-server-serve-"));
  const hash = createHash("sha256").update("a-token-of-more-than-thirty-two-bytes").digest("hex");
  writeFileSync(
    join(directory, "tokens.toml"),
    `[[token]]\nname = "one"\nsha256 = "${hash}"\npreset = "full"\n`,
    {
      mode: 0o600,
    },
  );
  taken = createTcpServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  // Real time passes, but every timer that is left can be counted, whether it keeps a program alive or not.
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"],
    shouldAdvanceTime: true,
  });
});
afterEach(async () => {
  vi.useRealTimers();
  taken.close();
  await once(taken, "close");
  rmSync(directory, { recursive: true, force: true });
});

const port = (): number => (taken.address() as AddressInfo).port;
const table = (): ServeOptions["authentication"] => ({
  mode: "token-table",
  path: join(directory, "tokens.toml"),
});
/** Once the table has been read, if anything is to read it, and what ends at once has ended. */
async function timersLeft(): Promise<number> {
  for (let times = 50; times > 0; times--) await readFile(join(directory, "tokens.toml"));
  return vi.getTimerCount();
}

describe("a server that cannot start leaves nothing open", () => {
  it.each<[string, RegExp, () => ServeOptions]>([
    ["a limit is invalid", /maxSessions/, () => ({ limits: { maxSessions: -1 } })],
    ["the sandbox of the server is invalid", /sandbox/, () => ({ sandbox: { writable: ["\0"] } as never })],
    ["the port is in use", /in use/, () => ({ listen: `ws://127.0.0.1:${port()}` })],
    [
      "the port is in use, with metrics",
      /in use/,
      () => ({ listen: `ws://127.0.0.1:${port()}`, metrics: true }),
    ],
    ["MCP has no authentication", /mcp needs auth/, () => ({ authentication: undefined, mcp: true })],
    ["a root of MCP is relative", /absolute path, not 'src'/, () => ({ mcp: { roots: ["src"] } })],
    ["a tool of MCP is unknown", /no tool 'nope'/, () => ({ mcp: { tools: ["nope"] } })],
  ])("when %s", async (_, reason, options) => {
    await expect(serve({ authentication: table()!, ...options() })).rejects.toThrow(reason);
    expect(await timersLeft()).toBe(0);
  });

  it("when its token table cannot be read", async () => {
    const authentication = { mode: "token-table", path: join(directory, "missing.toml") } as const;
    await expect(serve({ authentication })).rejects.toThrow(/missing\.toml/);
    expect(await timersLeft()).toBe(0);
  });

  it("nor does one on someone else's HTTP server", async () => {
    const http = createServer();
    expect(() => attach(http, { authentication: table()!, limits: { maxSessions: -1 } })).toThrow();
    expect(await timersLeft()).toBe(0);
    expect(http.listenerCount("upgrade")).toBe(0);
  });
});

it("a server that is closed leaves nothing open either", async () => {
  const port = await freePort();
  const server = await serve({ listen: `ws://127.0.0.1:${port}`, authentication: table()! });
  await server.close();
  expect(await timersLeft()).toBe(0);
  const socket = connect(port, "127.0.0.1");
  expect(await once(socket, "error")).toMatchObject([{ code: "ECONNREFUSED" }]);
});
