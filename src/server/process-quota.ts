import { limitError } from "./limit-error.ts";
import type { ServerLimits } from "./limits.ts";

type QuotaLimits = Pick<
  ServerLimits,
  "maxProcesses" | "maxProcessesPerSession" | "maxRetainedBytes" | "maxRetainedBytesPerProcess"
>;

/** The place of one process in the quota. */
export interface ProcessPlace {
  /** The process has closed: it counts no longer, and its output only with what there is of it. */
  closed(retainedBytes: number): void;
  /** Nothing is left of it. */
  free(): void;
}

/** What all sessions together may have of processes and of their output. */
export class ProcessQuota {
  readonly #limits: QuotaLimits;
  #processes = 0;
  #retainedBytes = 0;

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** The share of one session: a function that takes a place for a process, or throws when there is none. */
  share(): () => ProcessPlace {
    let processes = 0;
    const limits = this.#limits;
    return () => {
      if (processes >= limits.maxProcessesPerSession)
        throw limitError(
          "maxProcessesPerSession",
          limits.maxProcessesPerSession,
          "this session has too many processes",
        );
      let bytes = this.#take();
      let running = true;
      processes += 1;
      const setBytes = (next: number): void => {
        this.#retainedBytes += next - bytes;
        bytes = next;
      };
      const closed = (retainedBytes: number): void => {
        if (!running) return;
        running = false;
        processes -= 1;
        this.#processes -= 1;
        setBytes(retainedBytes);
      };
      return {
        closed,
        free: () => {
          closed(0);
          setBytes(0);
        },
      };
    };
  }

  #take(): number {
    const { maxProcesses, maxRetainedBytes, maxRetainedBytesPerProcess } = this.#limits;
    if (this.#processes >= maxProcesses)
      throw limitError("maxProcesses", maxProcesses, "the server has too many processes");
    if (this.#retainedBytes + maxRetainedBytesPerProcess > maxRetainedBytes)
      throw limitError(
        "maxRetainedBytes",
        maxRetainedBytes,
        "the server has no room for the output of another process",
      );
    this.#processes += 1;
    this.#retainedBytes += maxRetainedBytesPerProcess;
    return maxRetainedBytesPerProcess;
  }
}
