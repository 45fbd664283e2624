import { type MethodName, methods } from "../../protocol/index.ts";
import type { WireError } from "../../protocol/envelope.ts";
import type {
  ObservedConnection,
  ObservedEnd,
  ObservedProcess,
  ObservedRequest,
  RefusedConnection,
  RequestHooks,
  ServerObserver,
} from "../settings/observer.ts";
import { Durations, PendingDurations } from "./durations.ts";

/** Requests of one method. */
export class MethodFigures {
  readonly durations = new Durations();
  /** By code of the JSON-RPC error. */
  readonly errors = new Map<number, number>();
  denied = 0;
}

/** Methods that do not exist are counted together: clients could invent any number. */
const UNKNOWN_METHOD = "unknown";

/**
 * Counts events on a server, in plain numbers, because most requests take a few microseconds; `Exposition` adds names
 * and a format on demand.
 */
export class ServerMetrics implements ServerObserver {
  readonly methods = new Map<string, MethodFigures>();
  readonly refusals = new Map<string, number>();
  readonly limitsReached = new Map<string, number>();
  /** By how they ended: `zero`, `nonzero` or `signal`. */
  readonly processEnds = new Map<string, number>();
  readonly processSeconds = new Durations();
  connections = 0;
  processesConfined = 0;
  processesUnconfined = 0;
  outputBytes = 0;
  readonly #pending = new PendingDurations();
  readonly #open = new Set<ObservedConnection>();
  #receivedBefore = 0;
  #sentBefore = 0;

  constructor() {
    for (const method of Object.keys(methods) as MethodName[]) this.methods.set(method, new MethodFigures());
    this.methods.set(UNKNOWN_METHOD, new MethodFigures());
  }

  /** Bytes of all connections, open and closed. */
  get receivedBytes(): number {
    return sum(this.#open, this.#receivedBefore, ({ receivedBytes }) => receivedBytes);
  }

  get sentBytes(): number {
    return sum(this.#open, this.#sentBefore, ({ sentBytes }) => sentBytes);
  }

  connected(connection: ObservedConnection): void {
    this.connections += 1;
    this.#open.add(connection);
  }

  disconnected(connection: ObservedConnection): void {
    this.#open.delete(connection);
    this.#receivedBefore += connection.receivedBytes ?? 0;
    this.#sentBefore += connection.sentBytes ?? 0;
  }

  refused({ cause }: RefusedConnection): void {
    count(this.refusals, cause);
  }

  denied({ method }: ObservedRequest): void {
    this.#of(method).denied += 1;
  }

  /** The figures of a method are looked up once. */
  hooksFor(method: string): RequestHooks {
    const figures = this.#of(method);
    return { timed: (startedAtMs, error) => this.#count(figures, startedAtMs, error) };
  }

  /** Adds the counts of this turn of the event loop, so that they can be read. */
  settle(): void {
    this.#pending.flush();
  }

  #count(figures: MethodFigures, startedAtMs: number, error: WireError | undefined): void {
    this.#pending.add(figures.durations, startedAtMs);
    if (error === undefined) return;
    count(figures.errors, error.code);
    const { code, limit } = (error.data ?? {}) as { code?: unknown; limit?: unknown };
    if (code === "LIMIT_REACHED") count(this.limitsReached, typeof limit === "string" ? limit : "other");
  }

  processStarted({ isConfined }: ObservedProcess): void {
    if (isConfined) this.processesConfined += 1;
    else this.processesUnconfined += 1;
  }

  processEnded({ startedAtMs }: ObservedProcess, end: ObservedEnd): void {
    const { exitCode, signal, outputBytes, endedAtMs } = end;
    count(this.processEnds, signal !== undefined ? "signal" : exitCode === 0 ? "zero" : "nonzero");
    this.processSeconds.add((endedAtMs - startedAtMs) / 1000);
    this.outputBytes += outputBytes;
  }

  #of(method: string): MethodFigures {
    return this.methods.get(method) ?? this.methods.get(UNKNOWN_METHOD)!;
  }
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function sum(
  connections: Iterable<ObservedConnection>,
  start: number,
  bytesOf: (connection: ObservedConnection) => number | undefined,
): number {
  let total = start;
  for (const connection of connections) total += bytesOf(connection) ?? 0;
  return total;
}
