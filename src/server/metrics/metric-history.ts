import { performance } from "node:perf_hooks";
import { resultOr } from "../../native/result-or.ts";
import type { Result } from "../../protocol/index.ts";
import type { ServerState, Traffic } from "../settings/server-state.ts";

const EVERY_MS = 15_000;
/** An hour. */
const MAX_SAMPLES = 240;

/** What a server is doing, and has done since its start. */
export interface Reading
  extends Traffic,
    Pick<ServerState, "connections" | "sessions" | "runningProcesses" | "bufferedBytes"> {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** Of a clock that nobody sets. */
  readonly clockMs: number;
  /** Processor time of this program. */
  readonly cpuMs: number;
  /** Time during which its event loop was not waiting. */
  readonly loopMs: number;
  /** Undefined if it cannot be read now. */
  readonly memoryBytes: number | undefined;
}

type History = Result<"server/metrics">;
type Sample = { readonly [Name in keyof History]: number };

/** Samples of a server over its last hour, so that a page has something to draw when it is opened. */
export class MetricHistory {
  readonly #read: () => Reading;
  readonly #samples: Sample[] = [];
  readonly #timer: NodeJS.Timeout;
  #last: Reading;

  constructor(read: () => Reading) {
    this.#read = read;
    this.#last = read();
    this.#samples.push(sampleOf(this.#last, this.#last));
    this.#timer = setInterval(() => this.#add(), EVERY_MS).unref();
  }

  /** The oldest first. The last values are those of now, so there are at least two. */
  get values(): History {
    const samples = [...this.#samples, sampleOf(this.#read(), this.#last)];
    const list = (name: keyof Sample): number[] => samples.map((sample) => sample[name]);
    return {
      atMs: list("atMs"),
      connections: list("connections"),
      sessions: list("sessions"),
      runningProcesses: list("runningProcesses"),
      bufferedBytes: list("bufferedBytes"),
      requestsPerSecond: list("requestsPerSecond"),
      errorsPerSecond: list("errorsPerSecond"),
      sentBytesPerSecond: list("sentBytesPerSecond"),
      cpuPercent: list("cpuPercent"),
      eventLoopPercent: list("eventLoopPercent"),
      memoryBytes: list("memoryBytes"),
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #add(): void {
    const reading = this.#read();
    this.#samples.push(sampleOf(reading, this.#last));
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
    this.#last = { ...reading, memoryBytes: reading.memoryBytes ?? this.#last.memoryBytes };
  }
}

/** What this program uses of its machine. */
export function readUsage(): Pick<Reading, "atMs" | "clockMs" | "cpuMs" | "loopMs" | "memoryBytes"> {
  const { user, system } = process.cpuUsage();
  return {
    atMs: Date.now(),
    clockMs: performance.now(),
    cpuMs: (user + system) / 1000,
    loopMs: performance.eventLoopUtilization().active,
    // It opens a file, and there may be no descriptor left.
    memoryBytes: resultOr(undefined, () => process.memoryUsage.rss()),
  };
}

/** Totals become rates since an earlier reading. */
function sampleOf(now: Reading, before: Reading): Sample {
  const { atMs, connections, sessions, runningProcesses, bufferedBytes } = now;
  const seconds = (now.clockMs - before.clockMs) / 1000;
  const rate = (grown: number): number => (seconds > 0 ? round(Math.max(0, grown) / seconds) : 0);
  // Times in milliseconds: a share of a second is a tenth of it in percent.
  return {
    atMs,
    connections,
    sessions,
    runningProcesses,
    bufferedBytes,
    requestsPerSecond: rate(now.requests - before.requests),
    errorsPerSecond: rate(now.errors - before.errors),
    sentBytesPerSecond: rate(now.sentBytes - before.sentBytes),
    cpuPercent: rate((now.cpuMs - before.cpuMs) / 10),
    eventLoopPercent: rate((now.loopMs - before.loopMs) / 10),
    memoryBytes: now.memoryBytes ?? before.memoryBytes ?? 0,
  };
}

/** More digits would only make the answer longer. */
function round(value: number): number {
  return Math.round(value * 100) / 100;
}
