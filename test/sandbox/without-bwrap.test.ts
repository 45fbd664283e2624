import { mkdtemp, rm } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run, withFiles } from "../conformance/process-events.ts";
import { openWebSocketPeer, type RawPeer, RpcFailure } from "../conformance/raw-peer.ts";
import {
  entry,
  READ_ONLY,
  READ_ONLY_WITH_NETWORK,
  readAll,
  restrictedTo,
} from "../conformance/sandbox-context.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { base64, start } from "../conformance/verifies.ts";

let emptyDirectory: string;
let server: ServerProcess;
let peer: RawPeer;

beforeAll(async () => {
  emptyDirectory = await mkdtemp("/var/tmp/exec-server-no-bwrap-");
  server = await launch("ours", ["--listen", "ws://127.0.0.1:0"], { env: { PATH: emptyDirectory } });
  peer = await openWebSocketPeer(await server.banner());
  await peer.handshake();
});

afterAll(async () => {
  peer.drop();
  await server.stop();
  await rm(emptyDirectory, { recursive: true });
});

/** The error of a request that must fail. */
async function refusal(method: string, params: object): Promise<RpcFailure> {
  const failure: unknown = await peer.request(method, params).then(
    (result) => new Error(`${method} succeeded: ${JSON.stringify(result)}`),
    (error: unknown) => error,
  );
  if (!(failure instanceof RpcFailure)) throw failure;
  return failure;
}

const REMEDY = /sandbox.*bwrap.*install the package bubblewrap/;

describe("a server without bwrap on its PATH", () => {
  it("refuses every start in a sandbox, and says what to install", async () => {
    for (const sandbox of [READ_ONLY, READ_ONLY_WITH_NETWORK, restrictedTo([])]) {
      for (const tty of [false, true]) {
        const { code, message } = await refusal("process/start", start("p", ["true"], { sandbox, tty }));
        expect(code).toBe(-32603);
        expect(message).toMatch(REMEDY);
      }
    }
    // The id is free, and nothing has run.
    expect((await run(peer, "p", ["true"])).exitCode).toBe(0);
  });

  it("does not look for bwrap on the PATH of a request", async () => {
    const env = { PATH: "/usr/bin:/bin" };
    const { message } = await refusal("process/start", start("q", ["true"], { sandbox: READ_ONLY, env }));
    expect(message).toMatch(REMEDY);
  });

  it("refuses every file call in a sandbox, and changes nothing", async () => {
    await withFiles({ file: "old" }, async ({ path }) => {
      const sandbox = restrictedTo([readAll, entry(path, "write"), entry("/etc/passwd", "deny")]);
      const uri = pathToFileURL(`${path}/file`).href;
      const calls = {
        "fs/readFile": { path: uri },
        "fs/writeFile": { path: uri, dataBase64: base64("new") },
        "fs/remove": { path: uri },
        "fs/getMetadata": { path: uri },
        "fs/readDirectory": { path: pathToFileURL(path).href },
        "fs/createDirectory": { path: `${uri}-directory` },
      };
      for (const [method, params] of Object.entries(calls))
        expect((await refusal(method, { ...params, sandbox })).message, method).toMatch(REMEDY);
      expect(await peer.request("fs/readFile", { path: uri })).toEqual({ dataBase64: base64("old") });
    });
  });

  it("runs what asks for no protection", async () => {
    const none = { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" };
    expect((await run(peer, "r", ["true"], { sandbox: none })).exitCode).toBe(0);
    expect((await run(peer, "s", ["true"], { tty: true })).exitCode).toBe(0);
    expect(await peer.request("fs/getMetadata", { path: "file:///etc", sandbox: none })).toMatchObject({
      isDirectory: true,
    });
  });
});
