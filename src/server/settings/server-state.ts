import { LIMIT_NAMES, limitKey, type ServerLimits } from "./limits.ts";

/** The state of a server at one moment. */
export interface ServerState {
  readonly connections: number;
  /** Including those that wait for their client to reconnect. */
  readonly sessions: number;
  /** Processes that have not ended. */
  readonly runningProcesses: number;
  /** Memory that clients use: answers in preparation, and what they have not read. */
  readonly bufferedBytes: number;
  /** Whether it is shutting down, and admits no clients. */
  readonly isDraining: boolean;
  /** Whether clients that choose a server should give it no new work; see `server/cordon`. */
  readonly isCordoned: boolean;
  /** Limits that are numbers, by their keys in the configuration. */
  readonly limits: Readonly<Record<string, number>>;
}

/** Totals of all connections. */
export interface Traffic {
  /** Requests that were answered. */
  readonly requests: number;
  /** Those that were answered with an error. */
  readonly errors: number;
  readonly sentBytes: number;
}

export function numbersOf(limits: ServerLimits): Readonly<Record<string, number>> {
  const entries = LIMIT_NAMES.map((name) => [limitKey(name), limits[name]] as const);
  return Object.fromEntries(
    entries.filter((entry): entry is [string, number] => typeof entry[1] === "number"),
  );
}
