import type { Party } from "../access/credential.ts";
import type { Rights } from "../access/rights.ts";
import { limitError, type ServerLimits } from "../settings/limits.ts";

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
  readonly #owners: readonly Usage[];
  #bytes: number;
  #running = true;
  /** Called when the process is forgotten. */
  freed: (() => void) | undefined;

  /** `owners` are the session or the kept processes that it belongs to, and the principal. */
  constructor(server: ServerUsage, owners: readonly Usage[], bytes: number) {
    this.#server = server;
    this.#owners = owners;
    this.#bytes = bytes;
    server.processes += 1;
    for (const owner of owners) owner.processes += 1;
    server.retainedBytes += bytes;
  }

  /** Frees the slot of a closed process; only its retained bytes still count. */
  closed(retainedBytes: number): void {
    if (!this.#running) return;
    this.#running = false;
    for (const owner of this.#owners) owner.processes -= 1;
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
  readonly #principals = new Map<string, Usage>();

  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** The share of one session: a function that takes a slot for a process, or throws if none is free. */
  share({ principal, rights }: Party): () => ProcessSlot {
    const take = this.#share(principal, this.#limits.maxProcessesPerSession);
    return () => {
      this.checkOwn(principal, rights);
      return take();
    };
  }

  /** The share of a principal's kept processes, whose number is limited elsewhere. */
  shareOfKept(principal: string): () => ProcessSlot {
    return this.#share(principal, Number.POSITIVE_INFINITY);
  }

  /** Throws if a principal has as many processes as its rights allow. */
  checkOwn(principal: string, { limits: { maxProcesses } }: Rights): void {
    if (maxProcesses === undefined || (this.#principals.get(principal)?.processes ?? 0) < maxProcesses)
      return;
    throw limitError("maxProcesses", maxProcesses, "this token has too many processes");
  }

  #share(principal: string, maxProcesses: number): () => ProcessSlot {
    const share: Usage = { processes: 0 };
    return () => {
      this.#check(share, maxProcesses);
      const owners = [share, this.#usageOf(principal)];
      return new ProcessSlot(this.#usage, owners, this.#limits.maxRetainedBytesPerProcess);
    };
  }

  #usageOf(principal: string): Usage {
    const known = this.#principals.get(principal);
    if (known !== undefined) return known;
    for (const [other, { processes }] of this.#principals)
      if (processes === 0) this.#principals.delete(other);
    const usage: Usage = { processes: 0 };
    this.#principals.set(principal, usage);
    return usage;
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
