import { RpcError, UsageError } from "../../base/errors.ts";
import type { WireError } from "../../protocol/envelope.ts";
import { RpcCode } from "../../protocol/errors.ts";
import {
  DETACHED_SESSION_TTL_MS,
  EXITED_PROCESS_RETENTION_MS,
  MAX_MESSAGE_BYTES,
  MAX_RETAINED_BYTES,
} from "../../protocol/wire-limits.ts";
import { HANDSHAKE_TIMEOUT_MS, MAX_PENDING_CONNECTIONS } from "../../transport/websocket/pending-sockets.ts";
import { HIGH_WATER_BYTES } from "../../transport/transport.ts";

/** A limit that is a whole number. */
export interface NumberLimit {
  readonly kind: "number";
  readonly unit: "count" | "bytes" | "ms";
  readonly default: number;
  readonly min: number;
  readonly max: number;
  /** What it limits, and what happens when it is reached. */
  readonly doc: string;
}

/** A limit that is on or off. */
export interface SwitchLimit {
  readonly kind: "switch";
  readonly default: boolean;
  readonly doc: string;
}

/** A limit that is a list of absolute paths. */
export interface PathsLimit {
  readonly kind: "paths";
  readonly default: readonly string[];
  readonly doc: string;
}

/** One limit: its allowed values, its default and its description. */
export type LimitDefinition = NumberLimit | SwitchLimit | PathsLimit;

const MEBIBYTE = 1024 * 1024;
const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Output queued for a slow connection must fit several times over, or it would be evicted before it is sent. */
const MIN_RETAINED_BYTES = 512 * 1024;

const number = (
  unit: NumberLimit["unit"],
  [min, fallback, max]: readonly [min: number, fallback: number, max: number],
  doc: string,
): NumberLimit => ({ kind: "number", unit, min, default: fallback, max, doc });

/**
 * Every limit of a server. Flags, `--help`, configuration-file validation and docs/guide/configuration.md derive from
 * it.
 */
export const LIMITS = {
  maxConnections: number(
    "count",
    [1, 16_384, 1_000_000],
    "Maximum number of open connections; further WebSockets are refused with HTTP 503",
  ),
  maxPendingConnections: number(
    "count",
    [1, MAX_PENDING_CONNECTIONS, 1_000_000],
    "Maximum number of sockets that have not become a connection, or were refused; the oldest is closed to make room",
  ),
  handshakeTimeoutMs: number(
    "ms",
    [1, HANDSHAKE_TIMEOUT_MS, DAY_MS],
    "Time a socket has to become a WebSocket or to send its next HTTP request before it is closed",
  ),
  initializeTimeoutMs: number(
    "ms",
    [1, 5 * MINUTE_MS, DAY_MS],
    "Time a WebSocket has to send initialize before it is closed",
  ),
  maxSessions: number(
    "count",
    [1, 16_384, 1_000_000],
    "Maximum number of sessions, including those that wait for their client to reconnect; a further initialize is refused",
  ),
  maxProcessesPerSession: number(
    "count",
    [1, 16_384, 1_000_000],
    "Maximum number of processes in one session that have not closed; a further start is refused",
  ),
  maxProcesses: number(
    "count",
    [1, 65_536, 1_000_000],
    "Maximum number of processes, all sessions together; a further start is refused",
  ),
  maxRetainedBytesPerProcess: number(
    "bytes",
    [MIN_RETAINED_BYTES, MAX_RETAINED_BYTES, 1024 * MEBIBYTE],
    "Output kept for process/read, per process; the oldest is evicted first",
  ),
  maxRetainedBytes: number(
    "bytes",
    [MIN_RETAINED_BYTES, 128 * 1024 * MEBIBYTE, 1024 * 1024 * MEBIBYTE],
    "Output kept for process/read, all processes together. A running process counts with its full allowance, a closed one with the bytes it left; a further start is refused",
  ),
  maxSpooledBytesPerProcess: number(
    "bytes",
    [MEBIBYTE, 128 * MEBIBYTE, 1024 * 1024 * MEBIBYTE],
    "Output of one process on the disk of a durable server; the oldest is removed first",
  ),
  maxSpooledBytesPerOwner: number(
    "bytes",
    [MEBIBYTE, 1024 * MEBIBYTE, 1024 * 1024 * MEBIBYTE],
    "The same for the processes of one principal together",
  ),
  maxSpooledBytes: number(
    "bytes",
    [MEBIBYTE, 4096 * MEBIBYTE, 1024 * 1024 * MEBIBYTE],
    "The same for all processes together",
  ),
  maxMessageBytes: number(
    "bytes",
    [4096, MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES],
    "Maximum size of one message from a client; a longer one ends its connection",
  ),
  maxUnansweredRequests: number(
    "count",
    [16, 65_536, 1_000_000],
    "Maximum number of unanswered requests per connection; at this number the server stops reading from the connection until half of them are answered",
  ),
  maxBufferedBytesPerConnection: number(
    "bytes",
    [HIGH_WATER_BYTES, 64 * MEBIBYTE, 1024 * MEBIBYTE],
    "Memory for one client: answers in preparation, answers it has not read, stream data, HTTP bodies. Above it, its requests wait, except that one request at a time may exceed it. When queued requests take half of it, the server stops reading from the client",
  ),
  maxBufferedBytes: number(
    "bytes",
    [HIGH_WATER_BYTES, 192 * MEBIBYTE, 1024 * 1024 * MEBIBYTE],
    "Memory for all clients together. Every client is guaranteed 1 MiB, and if clients that do not read have used up the rest, a client that reads may exceed it",
  ),
  maxUnreadInputBytes: number(
    "bytes",
    [4096, 16 * MEBIBYTE, 1024 * MEBIBYTE],
    "Maximum input buffered for a process that has not read it; a write beyond it is refused",
  ),
  maxTcpConnections: number(
    "count",
    [0, 256, 16_384],
    "Maximum number of TCP and Unix socket connections opened by tcp/connect and unix/connect, accepted, or waiting to be accepted, per connection; a further one is refused, or cut off. 0 refuses all",
  ),
  maxListenersPerConnection: number(
    "count",
    [0, 16, 1024],
    "Maximum number of ports and Unix sockets opened by tcp/listen and unix/listen, per connection; a further one is refused. 0 refuses all",
  ),
  maxListeners: number(
    "count",
    [0, 256, 16_384],
    "Maximum number of these, all connections together; a further one is refused",
  ),
  detachedSessionTtlMs: number(
    "ms",
    [0, DETACHED_SESSION_TTL_MS, DAY_MS],
    "Time a session waits for its client to reconnect before its processes are killed",
  ),
  exitedProcessRetentionMs: number(
    "ms",
    [0, EXITED_PROCESS_RETENTION_MS, DAY_MS],
    "Time a closed process can still be read, counted from when its client has received the close event",
  ),
  maxMcpSessions: number(
    "count",
    [1, 256, 16_384],
    "Maximum number of sessions of MCP clients; a token has at most a quarter of them, and its longest idle one makes room. If none is idle, a further one is refused",
  ),
  mcpSessionIdleMs: number(
    "ms",
    [100, 30 * MINUTE_MS, DAY_MS],
    "Time a session of an MCP client lasts without requests and streams; then its processes are killed",
  ),
  maxKeptProcesses: number(
    "count",
    [0, 256, 16_384],
    "Maximum number of kept processes of one principal, running and ended. The one that ended first makes room; if none has ended, a further start is refused",
  ),
  keptProcessRetentionMs: number(
    "ms",
    [0, DAY_MS, 20 * DAY_MS],
    "Time a kept process can still be read and listed after its end",
  ),
  drainTimeoutMs: number(
    "ms",
    [0, 0, DAY_MS],
    "Time that running processes have after SIGTERM before the server ends; meanwhile it admits no connections",
  ),
  shutdownGraceMs: number(
    "ms",
    [0, 0, DAY_MS],
    "Time processes have to end after SIGTERM when the server stops; then they are killed. 0 kills them at once",
  ),
  allowDirectExec: {
    kind: "switch",
    default: true,
    doc: "Allow starts that no policy has approved: specKind direct or absent, and command/exec",
  },
  allowPreparedExec: {
    kind: "switch",
    default: true,
    doc: "Allow starts that the client's policy has approved: specKind prepared",
  },
  allowServerScope: {
    kind: "switch",
    default: false,
    doc: "Allow every client to list the processes of all sessions: process/list with scope server",
  },
  fsRoots: {
    kind: "paths",
    default: [],
    doc: "Directories that fs/* is confined to, after links are resolved. Default: no restriction. Processes are not confined",
  },
} as const satisfies Record<string, LimitDefinition>;

/** Name of a limit in the library and in error data. */
export type LimitName = keyof typeof LIMITS;

/** Limit names, in table order. */
export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

/** Flag name on the command line: `max-sessions`. */
export function limitFlag(name: LimitName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Key in the configuration file: `max_sessions`. */
export function limitKey(name: LimitName): string {
  return limitFlag(name).replaceAll("-", "_");
}

/** Placeholder for the value in `--help` and in error messages. */
export function limitValueName(name: LimitName): string {
  const limit: LimitDefinition = LIMITS[name];
  if (limit.kind === "number") return limit.unit.toUpperCase();
  return limit.kind === "switch" ? "BOOL" : "PATHS";
}

/** A value for each limit. */
export type ServerLimits = {
  readonly [N in LimitName]: (typeof LIMITS)[N] extends NumberLimit
    ? number
    : (typeof LIMITS)[N] extends SwitchLimit
      ? boolean
      : readonly string[];
};

/** Why the value is invalid for the limit; undefined if it is valid. */
export function limitFault(name: LimitName, value: unknown): string | undefined {
  const limit: LimitDefinition = LIMITS[name];
  switch (limit.kind) {
    case "number":
      return Number.isInteger(value) && Number(value) >= limit.min && Number(value) <= limit.max
        ? undefined
        : `must be a whole number from ${limit.min} to ${limit.max}`;
    case "switch":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "paths":
      return Array.isArray(value) && value.every((path) => typeof path === "string" && path.startsWith("/"))
        ? undefined
        : "must be a list of absolute paths";
  }
}

/** Fills in the defaults. Throws a UsageError for an unknown name or an invalid value. */
export function resolveLimits(changed: Partial<ServerLimits> = {}): ServerLimits {
  for (const [name, value] of Object.entries(changed)) {
    if (!Object.hasOwn(LIMITS, name)) throw new UsageError(`there is no limit called ${name}`);
    const fault = limitFault(name as LimitName, value);
    if (fault !== undefined) throw new UsageError(`${name} ${fault}`);
  }
  const defaults = Object.fromEntries(Object.entries(LIMITS).map(([name, limit]) => [name, limit.default]));
  return { ...(defaults as unknown as ServerLimits), ...changed };
}

/**
 * The answer to a request that exceeds a configured limit. It names the limit and its value for those who can change
 * it.
 */
export function limitError(limit: LimitName, value: number | boolean, reason: string): RpcError {
  return new RpcError(RpcCode.limit, `${reason} (${limit} is ${value})`, {
    data: { code: "LIMIT_REACHED", limit, value },
    code: "LIMIT_REACHED",
  });
}

/** Answer to a message that is longer than a configured limit. */
export function messageTooLong(maxMessageBytes: number): WireError {
  const error = limitError("maxMessageBytes", maxMessageBytes, "the message is too long");
  return { code: error.rpcCode, message: error.message, data: error.data };
}
