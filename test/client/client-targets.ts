import { mkdtemp, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import { findCodexBinary } from "../../scripts/install-codex.mjs";
import { connect } from "../../src/client/connect/connect.ts";
import type { Host } from "../../src/client/host.ts";
import { createServer } from "../../src/server/server.ts";
import { launch, SERVER_PATH, type ServerKind } from "../conformance/server-process.ts";

/** A server that tests can connect to, in one of the ways there are. */
export interface ClientTarget {
  connect(): Promise<Host>;
  /** Where it listens. A session can be resumed there, and only there. */
  readonly url?: string;
  stop(): Promise<void>;
}

const overWebSocket = (kind: ServerKind) => async (): Promise<ClientTarget> => {
  const server = await launch(kind, ["--listen", "ws://127.0.0.1:0"]);
  const url = await server.banner();
  return { url, connect: () => connect(url), stop: () => server.stop() };
};

const overStdio = (kind: ServerKind) => async (): Promise<ClientTarget> => {
  // Not under the temporary directory: the real server warns about that and behaves differently.
  const home = await mkdtemp("/var/tmp/exec-server-client-");
  const env = { PATH: SERVER_PATH, HOME: home, CODEX_HOME: home };
  const command: [string, ...string[]] = [...programOf(kind), "--listen", "stdio"];
  return {
    connect: () => connect({ command, cwd: home, env }),
    stop: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
  };
};

async function inProcess(): Promise<ClientTarget> {
  const server = createServer({ environment: { PATH: SERVER_PATH } });
  return { connect: () => connect(server), stop: () => server.close() };
}

function programOf(kind: ServerKind): [string, ...string[]] {
  if (kind === "ours")
    return [process.execPath, fileURLToPath(new URL("../../dist/cli.js", import.meta.url))];
  const binary = findCodexBinary();
  if (binary === undefined) throw new Error("no codex binary; run `node scripts/install-codex.mjs`");
  return [binary, "exec-server"];
}

/** Every kind of server and every way to it. */
export const clientTargets = [
  { name: "our server over ws", start: overWebSocket("ours"), resumable: true },
  { name: "our server over stdio", start: overStdio("ours"), resumable: false },
  { name: "our server in this program", start: inProcess, resumable: false },
  { name: "the real server over ws", start: overWebSocket("codex"), resumable: true },
  { name: "the real server over stdio", start: overStdio("codex"), resumable: false },
] as const;

/** For a group of tests: starts a target before them, connects to it, and ends both after them. */
export function usingTarget(
  start: () => Promise<ClientTarget>,
  connected: (host: Host, target: ClientTarget) => void,
): void {
  let target: ClientTarget | undefined;
  let host: Host | undefined;

  beforeAll(async () => {
    target = await start();
    host = await target.connect();
    connected(host, target);
  });

  afterAll(async () => {
    await host?.close();
    await target?.stop();
  });
}
