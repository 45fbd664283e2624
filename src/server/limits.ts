import { UsageError } from "../base/errors.ts";
import {
  DETACHED_SESSION_TTL_MS,
  EXITED_PROCESS_RETENTION_MS,
  MAX_MESSAGE_BYTES,
  MAX_RETAINED_BYTES,
} from "../protocol/limits.ts";
import { HANDSHAKE_TIMEOUT_MS, MAX_PENDING_CONNECTIONS } from "../transport/websocket/guests.ts";
import { HIGH_WATER_BYTES } from "../transport/transport.ts";

/** A limit that is a whole number. */
export interface NumberLimit {
  readonly kind: "number";
  readonly unit: "count" | "bytes" | "ms";
  readonly default: number;
  readonly min: number;
  readonly max: number;
  /** What it limits, and what happens there. */
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

/** What a limit is: its values, its default and what it does. */
export type LimitDefinition = NumberLimit | SwitchLimit | PathsLimit;

const MEBIBYTE = 1024 * 1024;
const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Output that waits for a slow connection must fit several times, or it would be lost. */
const MIN_RETAINED_BYTES = 512 * 1024;

const number = (
  unit: NumberLimit["unit"],
  [min, fallback, max]: readonly [min: number, fallback: number, max: number],
  doc: string,
): NumberLimit => ({ kind: "number", unit, min, default: fallback, max, doc });

/** Every limit a server has. Flags, `--help`, the check of the configuration file and its page of the manual come from here. */
export const LIMITS = {
  maxConnections: number(
    "count",
    [1, 16_384, 1_000_000],
    "Connections at once; a further WebSocket is refused with HTTP 503",
  ),
  maxPendingConnections: number(
    "count",
    [1, MAX_PENDING_CONNECTIONS, 1_000_000],
    "Sockets that are no connections yet, or were refused; beyond it the oldest is cut",
  ),
  handshakeTimeoutMs: number(
    "ms",
    [1, HANDSHAKE_TIMEOUT_MS, DAY_MS],
    "How long a socket may take to become a WebSocket, or to make its next HTTP request; then it is cut",
  ),
  initializeTimeoutMs: number(
    "ms",
    [1, 5 * MINUTE_MS, DAY_MS],
    "How long a WebSocket may take to send initialize; then it is cut",
  ),
  maxSessions: number(
    "count",
    [1, 16_384, 1_000_000],
    "Sessions at once, with those that wait for their client to come back; a further initialize is refused",
  ),
  maxProcessesPerSession: number(
    "count",
    [1, 16_384, 1_000_000],
    "Processes of one session that have not closed; a further start is refused",
  ),
  maxProcesses: number(
    "count",
    [1, 65_536, 1_000_000],
    "The same for all sessions together; a further start is refused",
  ),
  maxRetainedBytesPerProcess: number(
    "bytes",
    [MIN_RETAINED_BYTES, MAX_RETAINED_BYTES, 1024 * MEBIBYTE],
    "Output of a process that is kept for process/read; the oldest goes first",
  ),
  maxRetainedBytes: number(
    "bytes",
    [MIN_RETAINED_BYTES, 128 * 1024 * MEBIBYTE, 1024 * 1024 * MEBIBYTE],
    "The same for all processes together: a process that runs counts in full, one that has closed with what it left; a further start is refused",
  ),
  maxMessageBytes: number(
    "bytes",
    [4096, MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES],
    "One message of a client; a longer one ends its connection",
  ),
  maxUnansweredRequests: number(
    "count",
    [16, 65_536, 1_000_000],
    "Unanswered requests of a connection; from there on nothing is read from it until half of them are answered",
  ),
  maxBufferedBytesPerConnection: number(
    "bytes",
    [HIGH_WATER_BYTES, 64 * MEBIBYTE, 1024 * MEBIBYTE],
    "Memory for one client: answers that are made or that it has not read, pieces of streams, HTTP bodies; from there on its requests wait. One at a time may be larger. At half of it in requests that have not had their turn, no more are read",
  ),
  maxBufferedBytes: number(
    "bytes",
    [HIGH_WATER_BYTES, 192 * MEBIBYTE, 1024 * 1024 * MEBIBYTE],
    "The same for all clients together. Every client may have 1 MiB in any case, and where those that do not read have used it up, one that reads goes beyond it",
  ),
  maxUnreadInputBytes: number(
    "bytes",
    [4096, 16 * MEBIBYTE, 1024 * MEBIBYTE],
    "Input that a process has not read; a write beyond it is refused",
  ),
  detachedSessionTtlMs: number(
    "ms",
    [0, DETACHED_SESSION_TTL_MS, DAY_MS],
    "How long a session waits for its client to come back; then its processes are killed",
  ),
  exitedProcessRetentionMs: number(
    "ms",
    [0, EXITED_PROCESS_RETENTION_MS, DAY_MS],
    "How long a process that has closed can still be read, once its client has heard of that",
  ),
  shutdownGraceMs: number(
    "ms",
    [0, 0, DAY_MS],
    "How long processes may take to end after SIGTERM when the server stops; then, or at once if 0, they are killed",
  ),
  allowDirectExec: {
    kind: "switch",
    default: true,
    doc: "Whether processes may be started that nobody has approved: specKind direct or none, and command/exec",
  },
  allowPreparedExec: {
    kind: "switch",
    default: true,
    doc: "Whether processes may be started that the client's policy has approved: specKind prepared",
  },
  allowServerScope: {
    kind: "switch",
    default: false,
    doc: "Whether every client may list the processes of all sessions: process/list with scope server",
  },
  fsRoots: {
    kind: "paths",
    default: [],
    doc: "Directories that fs/* is confined to, links resolved; all when none is given. Processes are not confined",
  },
} as const satisfies Record<string, LimitDefinition>;

/** The name of a limit, as the library and error data spell it. */
export type LimitName = keyof typeof LIMITS;

/** In the order of the table. */
export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

/** How the command line spells a limit: `max-sessions`. */
export function limitFlag(name: LimitName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** How the configuration file spells it: `max_sessions`. */
export function limitKey(name: LimitName): string {
  return limitFlag(name).replaceAll("-", "_");
}

/** What stands for a value in `--help` and in messages. */
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

/** Why a value cannot be the limit's, or undefined when it can. */
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

/** Fills in the defaults. Throws a UsageError for an unknown name and an impossible value. */
export function resolveLimits(given: Partial<ServerLimits> = {}): ServerLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(LIMITS, name)) throw new UsageError(`there is no limit called ${name}`);
    const fault = limitFault(name as LimitName, value);
    if (fault !== undefined) throw new UsageError(`${name} ${fault}`);
  }
  const defaults = Object.fromEntries(Object.entries(LIMITS).map(([name, limit]) => [name, limit.default]));
  return { ...(defaults as unknown as ServerLimits), ...given };
}
