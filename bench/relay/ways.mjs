// Ways to a server that are compared: directly over a WebSocket, and through a relay, to this project's server and to
// Codex's. Each has its own processes for the server and the client, so that none inherits what V8 compiled for another.
import { fileURLToPath } from "node:url";
import { findCodexBinary } from "../../scripts/install-codex.mjs";
import { forkClient } from "../fork-client.mjs";
import { readBanner, startProgram } from "../servers.mjs";

const OURS = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const POLL_MS = 50;
const POLLS = 200;
/** A relay for this machine alone admits anyone, but an executor has to say something. */
const KEY = "CODEX_API_KEY=unused";
/** Codex answers it, too. */
const REQUEST = "environment/info";

const isWebSocket = (line) => line.startsWith("ws://");

function commandOf(kind) {
  if (kind === "ours") return [process.execPath, OURS];
  const binary = findCodexBinary();
  if (binary === undefined) throw new Error("no codex binary; run `node scripts/install-codex.mjs`");
  return [binary, "exec-server"];
}

/** Resolves with the relay's `base`, `pid` and `stop`. */
export async function startRelay() {
  const relay = await startProgram(process.execPath, [OURS, "relay", "--listen", "http://127.0.0.1:0"]);
  const base = await readBanner(relay, (line) => line.startsWith("http://"));
  return { base, pid: relay.pid, stop: relay.stop };
}

/** Starts a server that is reached directly, and returns its URL. */
export async function startServer(kind) {
  const server = await startProgram(...withArguments(kind, ["--listen", "ws://127.0.0.1:0"]));
  return { pid: server.pid, stop: server.stop, target: await readBanner(server, isWebSocket) };
}

/** Starts an executor, and waits until clients can reach it. */
export async function startExecutor(kind, base, environmentId) {
  const [command, args] = withArguments(kind, ["--remote", base, "--environment-id", environmentId]);
  const server = await startProgram("env", [KEY, command].concat(args));
  for (let poll = 0; !(await isOnline(base, environmentId)); poll += 1) {
    if (poll === POLLS) throw new Error(`executor ${environmentId} did not register: ${server.complaints()}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return { pid: server.pid, stop: server.stop, target: { relay: base, environmentId } };
}

async function isOnline(base, environmentId) {
  const environments = await (await fetch(`${base}/environments`)).json();
  return environments.some((each) => each.environmentId === environmentId && each.isOnline);
}

function withArguments(kind, args) {
  const [command, ...first] = commandOf(kind);
  return [command, [...first, ...args]];
}

/** Resolves with `{way, pids, measure(work, size), stop()}`. Without a relay, the way is direct. */
export async function openWay(kind, base) {
  const way = base === undefined ? `direct to ${kind}` : `relay to ${kind}`;
  const server = base === undefined ? await startServer(kind) : await startExecutor(kind, base, kind);
  try {
    const client = await forkClient(way, { target: server.target, request: REQUEST });
    const stop = async () => {
      await client.stop();
      await server.stop();
    };
    return { way, pids: [server.pid, client.pid], measure: client.measure, stop };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
