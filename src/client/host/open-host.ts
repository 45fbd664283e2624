import { checkDuration } from "../../base/duration.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import type { Connector } from "../link/connectors.ts";
import { RECOVERY_TIMEOUT_MS } from "../link/recovery-budget.ts";
import type { LocalTrees } from "../files/trees.ts";
import { Host } from "./host.ts";
import { ClientSession } from "../session/session.ts";

const DEFAULT_TIMEOUT_MS = 10_000;

/** How to connect, and how to recover a lost connection. */
export interface ConnectOptions {
  /** Identifies the client to the server. Default: `exec-server-client`. */
  readonly clientName?: string;
  /** Capability token or signed bearer token, for servers with authentication. Surrounding white space is trimmed. */
  readonly token?: string;
  /** Timeout for opening the connection. Default: 10 s. Here and below, Infinity means no timeout. */
  readonly connectTimeoutMs?: number;
  /** Timeout for the handshake that follows. Default: 10 s. */
  readonly initializeTimeoutMs?: number;
  /**
   * How long a session may be without a connection before it is abandoned. Default: 50 s; servers keep a session for 80
   * s. Connections that end immediately use it up too: a connection restores only as much time as it lasted.
   */
  readonly recoveryTimeoutMs?: number;
  /**
   * How long a server may be silent that owes the answer to something it answers at once, such as a list or a start; the
   * call then rejects with the code TIMED_OUT. What waits by nature, or moves data, is not limited. Default: no limit.
   */
  readonly answerTimeoutMs?: number;
  /**
   * Adds a `started` event to `Host.events` for each process that this session starts, if the server has
   * `initialize.reportStarts`. Default: false.
   */
  readonly reportStarts?: boolean;
  /** Resumes a session that has lost its client; see `Host.sessionId`. */
  readonly resumeSessionId?: string;
  /** Cancels connecting. It has no effect once there is a host. */
  readonly signal?: AbortSignal;
  /** Receives what no caller learns of: stderr of a started server, failed reconnection attempts. */
  readonly logger?: Logger;
  /** Called with every message as text, for debugging; it costs speed. A server in this program has no messages. */
  readonly onMessage?: (direction: "sent" | "received", text: string) => void;
}

/** Opens a session through a connector. `trees` copies from and to this machine, if it has files. */
export async function openHost(
  connector: Connector,
  options: ConnectOptions,
  trees?: LocalTrees,
): Promise<Host> {
  const { resumeSessionId } = options;
  const session = await ClientSession.open(
    connector,
    {
      clientName: options.clientName ?? "exec-server-client",
      connectTimeoutMs: connectTimeout(options),
      initializeTimeoutMs: durationOf(options, "initializeTimeoutMs", DEFAULT_TIMEOUT_MS),
      recoveryTimeoutMs: durationOf(options, "recoveryTimeoutMs", RECOVERY_TIMEOUT_MS),
      answerTimeoutMs: durationOf(options, "answerTimeoutMs", Number.POSITIVE_INFINITY),
      logger: options.logger ?? silentLogger,
      reportStarts: options.reportStarts === true,
      ...(resumeSessionId === undefined ? {} : { resumeSessionId }),
    },
    options.signal,
  );
  return new Host(session, trees);
}

/** Timeout for opening a connection. */
export function connectTimeout(options: ConnectOptions): number {
  return durationOf(options, "connectTimeoutMs", DEFAULT_TIMEOUT_MS);
}

function durationOf(
  options: ConnectOptions,
  name: "connectTimeoutMs" | "initializeTimeoutMs" | "recoveryTimeoutMs" | "answerTimeoutMs",
  fallback: number,
): number {
  return checkDuration(name, options[name] ?? fallback);
}
