import { checkDuration } from "../../base/duration.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import type { Connector } from "./connector.ts";
import type { LocalTrees } from "../files/trees.ts";
import { Host } from "../host.ts";
import { ClientSession } from "../session/session.ts";

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_RECOVERY_TIMEOUT_MS = 25_000;

/** How to connect, and what to do when the connection is lost. */
export interface ConnectOptions {
  /** Tells the server who is calling. `exec-server-client` unless told. */
  readonly clientName?: string;
  /** For servers that ask for one: a capability token or a signed bearer token. White space around it is left out. */
  readonly token?: string;
  /** How long the connection may take to open. Default: 10 s. Here and below, Infinity is without end. */
  readonly connectTimeoutMs?: number;
  /** How long the handshake after it may take. Default: 10 s. */
  readonly initializeTimeoutMs?: number;
  /**
   * How long a session may be without a connection before it is given up. Default: 25 s; servers keep a session for 30 s. Connections that end at once use it up too:
   * one gives back only as much as it has held.
   */
  readonly recoveryTimeoutMs?: number;
  /** Continues a session that has lost its client; see `Host.sessionId`. */
  readonly resumeSessionId?: string;
  /** Gives up connecting. It has no effect on the host once there is one. */
  readonly signal?: AbortSignal;
  /** Gets what nobody else is told: what a started server says on stderr, failed tries to reconnect. */
  readonly logger?: Logger;
}

/** Opens a session by way of a connector. `trees` copies from and to this machine, where it has files. */
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
      recoveryTimeoutMs: durationOf(options, "recoveryTimeoutMs", DEFAULT_RECOVERY_TIMEOUT_MS),
      logger: options.logger ?? silentLogger,
      ...(resumeSessionId === undefined ? {} : { resumeSessionId }),
    },
    options.signal,
  );
  return new Host(session, trees);
}

/** How long a connection may take to open. */
export function connectTimeout(options: ConnectOptions): number {
  return durationOf(options, "connectTimeoutMs", DEFAULT_TIMEOUT_MS);
}

function durationOf(
  options: ConnectOptions,
  name: "connectTimeoutMs" | "initializeTimeoutMs" | "recoveryTimeoutMs",
  fallback: number,
): number {
  return checkDuration(name, options[name] ?? fallback);
}
