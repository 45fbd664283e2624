import { mkdtemp, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";
import { findCodexBinary } from "../../scripts/install-codex.mjs";
import { connect, type NodeConnectOptions } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { serve } from "../../src/server/index.ts";
import { createServer } from "../../src/server/serve/server.ts";
import { launch, SERVER_PATH, type ServerKind } from "../conformance/server-process.ts";
import { startNats } from "../fixtures/nats-server.ts";
import { isOverNats } from "./served.ts";

/** A server that tests can connect to, in one of the ways there are. */
export interface ClientTarget {
  connect(options?: NodeConnectOptions): Promise<Host>;
  /** Where it listens, if a proxy for WebSockets can sit in between. */
  readonly url?: string;
  stop(): Promise<void>;
}

const overWebSocket = (kind: ServerKind) => async (): Promise<ClientTarget> => {
  const server = await launch(kind, ["--listen", "ws://127.0.0.1:0"]);
  const url = await server.banner();
  return { url, connect: (options) => connect(url, options), stop: () => server.stop() };
};

const overStdio = (kind: ServerKind) => async (): Promise<ClientTarget> => {
  // Not under the temporary directory: the real server warns about that and behaves differently.
  const home = await mkdtemp("/var/tmp/exec-server-client-");
  const variables = [`PATH=${SERVER_PATH}`, `HOME=${home}`, `CODEX_HOME=${home}`];
  const command = ["/usr/bin/env", "-i", ...variables, ...programOf(kind), "--listen", "stdio"] as const;
  return {
    connect: (options) => connect({ command, cwd: home }, options),
    stop: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
  };
};

async function inProcess(): Promise<ClientTarget> {
  const server = createServer({ environment: { PATH: SERVER_PATH } });
  return { connect: (options) => connect(server, options), stop: () => server.close() };
}

async function overNats(): Promise<ClientTarget> {
  const nats = await startNats();
  const fleet = { servers: nats.url };
  const server = await serve({
    environment: { PATH: SERVER_PATH },
    insecureNoAuth: true,
    fleet: { ...fleet, id: "a" },
  });
  return {
    connect: (options) => connect({ fleet, id: "a" }, options),
    async stop() {
      await server.close();
      await nats[Symbol.asyncDispose]();
    },
  };
}

function programOf(kind: ServerKind): [string, ...string[]] {
  if (kind === "ours")
    return [process.execPath, fileURLToPath(new URL("../../dist/cli.js", import.meta.url))];
  const binary = findCodexBinary();
  if (binary === undefined) throw new Error("no codex binary; run `node scripts/install-codex.mjs`");
  return [binary, "exec-server"];
}

export interface ClientTargetInfo {
  readonly name: string;
  readonly start: () => Promise<ClientTarget>;
  /** A session outlives its connection. */
  readonly resumable: boolean;
  /** The target has a `url`. */
  readonly isSocket: boolean;
}

/** Our server, in the way that the tests are about, and the real one. */
export const OURS: ClientTargetInfo = isOverNats
  ? { name: "our server over NATS", start: overNats, resumable: true, isSocket: false }
  : { name: "our server over ws", start: overWebSocket("ours"), resumable: true, isSocket: true };
export const CODEX: ClientTargetInfo = {
  name: "the real server over ws",
  start: overWebSocket("codex"),
  resumable: true,
  isSocket: true,
};

/** Every kind of server and every way to it. With TEST_TRANSPORT=nats, only that one. */
export const clientTargets: readonly ClientTargetInfo[] = isOverNats
  ? [OURS]
  : [
      OURS,
      { name: "our server over stdio", start: overStdio("ours"), resumable: false, isSocket: false },
      { name: "our server in this program", start: inProcess, resumable: false, isSocket: false },
      CODEX,
      { name: "the real server over stdio", start: overStdio("codex"), resumable: false, isSocket: false },
    ];

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
