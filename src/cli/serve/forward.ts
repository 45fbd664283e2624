import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { registerExecutor } from "../../relay/executor.ts";
import { joinTransports } from "../../transport/join-transports.ts";
import type { Transport } from "../../transport/transport.ts";
import { connectWebSocket } from "../../transport/websocket/connect-websocket.ts";
import { Failure } from "../shared/failure.ts";
import { writeErr, writeOut } from "../shared/standard-streams.ts";
import { endWithStdin, onStopSignal, startedBefore } from "./ending.ts";
import { parseFlags } from "./flags.ts";
import { LOG_FLAGS, parseLog } from "./log.ts";
import { FORWARD_SWITCHES, parseRemote, REMOTE_FLAGS, requireFlags } from "./remote-flags.ts";

export const help = `Register a server that listens elsewhere with a relay

Usage: exec-server forward --connect URL --remote URL --environment-id ID [OPTIONS]

Each client that comes through the relay gets a connection of its own to the server, on which whole
messages are passed on in both directions. The server sees them as clients of this machine.

Options:
      --connect <URL>              Server to forward to: ws://HOST:PORT or wss://HOST:PORT
      --remote <URL>               Relay to register with; its credential is CODEX_API_KEY, or one of
                                   the next two
      --registration-bearer-stdin  Read the relay's token from the first line of stdin
      --executor-credential-stdin  Read credentials from stdin, one JSON object per line, each of
                                   which replaces the one before; the program ends with the pipe
      --environment-id <ID>        Name under which clients find the server at the relay
      --name <NAME>                Accepted for Codex; has no effect
      --exit-on-stdin-close        End when stdin does
      --identity <PATH>            File with the key that clients know the server by; created if it
                                   does not exist [default: a new key each time]
      --authorized-clients <PATH>  Admit only clients whose fingerprints are in this file
      --log-level <LEVEL>          error, warn, info or debug [default: warn]
      --log-file <PATH>            Log file [default: stderr]
      --log-format <FORMAT>        json or text [default: text on a terminal, else json]
  -h, --help                       Print help

Example:
  CODEX_API_KEY=unused exec-server forward --connect ws://127.0.0.1:7070 \\
    --remote http://127.0.0.1:7600 --environment-id build-1
`;

const FLAGS = { connect: "URL", ...REMOTE_FLAGS, ...LOG_FLAGS };
const CONNECT_TIMEOUT_MS = 10_000;

/** Registers a server elsewhere until it is stopped, or the relay refuses. */
export async function run(args: readonly string[]): Promise<void> {
  try {
    await forward(args);
  } catch (error) {
    // A credential may be read from there, and the other end must not keep this program alive.
    process.stdin.destroy();
    throw error;
  }
}

async function forward(args: readonly string[]): Promise<void> {
  const flags = parseFlags(args, { values: FLAGS, switches: FORWARD_SWITCHES });
  requireFlags(flags, ["remote", "environment-id", "connect"]);
  const openRemote = parseRemote(flags);
  const { logger } = parseLog(flags)("warn", {});
  const remote = await openRemote?.();
  if (remote === undefined) return;
  const url = parseDestination(flags.get("connect")!);
  const { registry, ...options } = remote.options;
  const starting = registerExecutor({
    ...options,
    base: registry,
    logger,
    accept: (transport) => void forwardTo(url, transport, logger),
    refused: (reason) => {
      writeErr(`Error: ${reason}\n`);
      process.exit(1);
    },
  });
  const executor = await startedBefore(remote.stdinEnd, starting);
  const stop = async (): Promise<void> => executor.close();
  endWithStdin(remote.stdinEnd, stop);
  onStopSignal(stop);
  await writeOut(`relay:${options.environmentId}\n`);
  writeErr(`Key: ${remote.fingerprint}\n`);
}

/** Opens a connection for a client, and joins the two. */
async function forwardTo(url: string, client: Transport, logger: Logger): Promise<void> {
  try {
    joinTransports(client, await connectWebSocket(url, { timeoutMs: CONNECT_TIMEOUT_MS }));
  } catch (error) {
    logger.warn("the server cannot be reached", { reason: messageOf(error) });
    client.close();
  }
}

function parseDestination(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^wss?:$/.test(url.protocol))
    throw new Failure(
      "failed to configure exec-server websocket: forward destination must be a ws:// or wss:// URL",
    );
  // A WebSocket has none.
  url.hash = "";
  return url.href;
}
