import { limitError } from "../limit-error.ts";
import type { ServerLimits } from "../limits.ts";

type QuotaLimits = Pick<
  ServerLimits,
  "maxProcesses" | "maxProcessesPerSession" | "maxRetainedBytes" | "maxRetainedBytesPerProcess"
>;

/** Current usage. */
interface Usage {
  processes: number;
}

interface ServerUsage extends Usage {
  retainedBytes: number;
}

/** The slot of one process in the quota. */
export class ProcessSlot {
  readonly #server: ServerUsage;
  readonly #session: Usage;
  #bytes: number;
  #running = true;
  /** Called when the process is forgotten. */
  freed: (() => void) | undefined;

  constructor(server: ServerUsage, session: Usage, bytes: number) {
    this.#server = server;
    this.#session = session;
    this.#bytes = bytes;
    server.processes += 1;
    session.processes += 1;
    server.retainedBytes += bytes;
  }

  /** Frees the slot of a closed process; only its retained bytes still count. */
  closed(retainedBytes: number): void {
    if (!this.#running) return;
    this.#running = false;
    this.#session.processes -= 1;
    this.#server.processes -= 1;
    this.#setBytes(retainedBytes);
  }

  /** Frees the slot and the retained bytes. */
  free(): void {
    this.closed(0);
    this.#setBytes(0);
    this.freed?.();
  }

  #setBytes(bytes: number): void {
    this.#server.retainedBytes += bytes - this.#bytes;
    this.#bytes = bytes;
  }
}

/** Limits the processes of all sessions and principals together, and their retained output. */
export class ProcessQuota {
  readonly #limits: QuotaLimits;
  readonly #usage: ServerUsage = { processes: 0, retainedBytes: 0 };

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** The share of one session: a function that takes a slot for a process, or throws if none is free. */
  share(): () => ProcessSlot {
    return this.#share(this.#limits.maxProcessesPerSession);
  }

  /** The share of kept processes, whose number is limited elsewhere. */
  shareOfKept(): () => ProcessSlot {
    return this.#share(Number.POSITIVE_INFINITY);
  }

  #share(maxProcesses: number): () => ProcessSlot {
    const share: Usage = { processes: 0 };
    return () => {
      this.#check(share, maxProcesses);
      return new ProcessSlot(this.#usage, share, this.#limits.maxRetainedBytesPerProcess);
    };
  }

  #check(share: Usage, maxProcessesPerSession: number): void {
    const { maxProcesses, maxRetainedBytes, maxRetainedBytesPerProcess } = this.#limits;
    if (share.processes >= maxProcessesPerSession)
      throw limitError(
        "maxProcessesPerSession",
        maxProcessesPerSession,
        "this session has too many processes",
      );
    if (this.#usage.processes >= maxProcesses)
      throw limitError("maxProcesses", maxProcesses, "the server has too many processes");
    if (this.#usage.retainedBytes + maxRetainedBytesPerProcess > maxRetainedBytes)
      throw limitError(
        "maxRetainedBytes",
        maxRetainedBytes,
        "the server has no room for the output of another process",
      );
  }
}
