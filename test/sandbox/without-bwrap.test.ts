import { mkdtemp, rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../conformance/process-events.ts";
import { openWebSocketPeer, type RawPeer, RpcFailure } from "../conformance/raw-peer.ts";
import { READ_ONLY, READ_ONLY_WITH_NETWORK, restrictedTo } from "../conformance/sandbox-context.ts";
import { launch, type ServerProcess } from "../conformance/server-process.ts";
import { start } from "../conformance/verifies.ts";

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

  it("runs what asks for no protection", async () => {
    const none = { permissions: { type: "disabled" }, windowsSandboxLevel: "disabled" };
    expect((await run(peer, "r", ["true"], { sandbox: none })).exitCode).toBe(0);
    expect((await run(peer, "s", ["true"], { tty: true })).exitCode).toBe(0);
    expect(await peer.request("fs/getMetadata", { path: "file:///etc", sandbox: none })).toMatchObject({
      isDirectory: true,
    });
  });
});
