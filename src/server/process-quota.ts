import { limitError } from "./limit-error.ts";
import type { ServerLimits } from "./limits.ts";

type QuotaLimits = Pick<
  ServerLimits,
  "maxProcesses" | "maxProcessesPerSession" | "maxRetainedBytes" | "maxRetainedBytesPerProcess"
>;

/** What is taken at the moment. */
interface Usage {
  processes: number;
}

interface ServerUsage extends Usage {
  retainedBytes: number;
}

/** The place of one process in the quota. */
export class ProcessPlace {
  readonly #server: ServerUsage;
  readonly #session: Usage;
  #bytes: number;
  #running = true;

  constructor(server: ServerUsage, session: Usage, bytes: number) {
    this.#server = server;
    this.#session = session;
    this.#bytes = bytes;
    server.processes += 1;
    session.processes += 1;
    server.retainedBytes += bytes;
  }

  /** The process has closed: it counts no longer, and its output only with what there is of it. */
  closed(retainedBytes: number): void {
    if (!this.#running) return;
    this.#running = false;
    this.#session.processes -= 1;
    this.#server.processes -= 1;
    this.#setBytes(retainedBytes);
  }

  /** Nothing is left of it. */
  free(): void {
    this.closed(0);
    this.#setBytes(0);
  }

  #setBytes(bytes: number): void {
    this.#server.retainedBytes += bytes - this.#bytes;
    this.#bytes = bytes;
  }
}

/** What all sessions together may have of processes and of their output. */
export class ProcessQuota {
  readonly #limits: QuotaLimits;
  readonly #usage: ServerUsage = { processes: 0, retainedBytes: 0 };

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** The share of one session: a function that takes a place for a process, or throws when there is none. */
  share(): () => ProcessPlace {
    const session: Usage = { processes: 0 };
    return () => {
      this.#check(session);
      return new ProcessPlace(this.#usage, session, this.#limits.maxRetainedBytesPerProcess);
    };
  }

  #check(session: Usage): void {
    const { maxProcessesPerSession, maxProcesses, maxRetainedBytes, maxRetainedBytesPerProcess } =
      this.#limits;
    if (session.processes >= maxProcessesPerSession)
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
