import { isOutOfDescriptors } from "../../../native/descriptor-reserve.ts";
import { pageBytes, type ProcessStat, TICKS_PER_SECOND } from "../../../native/process-stat.ts";
import { type ProcessSnapshot, readSnapshot } from "../process-snapshot.ts";

/** Resource usage of processes together. */
export interface Usage {
  /** Processor time so far. */
  readonly cpuMs: number;
  /** Their memory in use; shared memory counts for each of them. */
  readonly memoryBytes: number;
  readonly processes: number;
  /** When it was measured, since the epoch. */
  readonly atMs: number;
}

let pageSize: number | undefined;

/** Usage on the machine at one moment. */
export class MachineUsage {
  readonly #snapshot: ProcessSnapshot;
  readonly #atMs: number;
  readonly #byParent: ReadonlyMap<number, readonly ProcessStat[]>;
  readonly #bySession: ReadonlyMap<number, readonly ProcessStat[]>;

  constructor(snapshot: ProcessSnapshot, atMs = Date.now()) {
    this.#snapshot = snapshot;
    this.#atMs = atMs;
    this.#byParent = groupBy(snapshot.values(), ({ parent }) => parent);
    this.#bySession = groupBy(snapshot.values(), ({ session }) => session);
  }

  of(pids: Iterable<number>): Usage {
    let [ticks, pages, processes] = [0, 0, 0];
    for (const pid of pids) {
      const stat = this.#snapshot.get(pid);
      if (stat === undefined) continue;
      // A process that has not been reaped has used time, but is gone.
      ticks += stat.cpuTicks;
      if (!stat.alive) continue;
      pages += stat.residentPages;
      processes += 1;
    }
    pageSize ??= pageBytes();
    return {
      cpuMs: (ticks * 1000) / TICKS_PER_SECOND,
      memoryBytes: pages * pageSize,
      processes,
      atMs: this.#atMs,
    };
  }

  /** A process that leads a session, what is in that session, and all their descendants. */
  familyOf(leader: number): ReadonlySet<number> {
    const members = new Set<number>([leader]);
    for (const { pid } of this.#bySession.get(leader) ?? []) members.add(pid);
    // A set can grow while it is read.
    for (const pid of members) for (const child of this.#byParent.get(pid) ?? []) members.add(child.pid);
    return members;
  }
}

/** How long a measurement is valid. */
const VALID_MS = 500;

/** Measures once for all requests that come meanwhile or within 500 ms. */
export class Meter<T> {
  readonly #take: () => Promise<T>;
  #latest: Promise<T | undefined> | undefined;
  #validUntil = 0;

  constructor(take: () => Promise<T>) {
    this.#take = take;
  }

  /** Undefined without a free descriptor. */
  measure(): Promise<T | undefined> {
    if (this.#latest !== undefined && performance.now() < this.#validUntil) return this.#latest;
    // No other measurement starts while this one runs.
    this.#validUntil = Number.POSITIVE_INFINITY;
    this.#latest = this.#measure();
    return this.#latest;
  }

  async #measure(): Promise<T | undefined> {
    try {
      return await this.#take();
    } catch (error) {
      if (isOutOfDescriptors(error)) return undefined;
      throw error;
    } finally {
      this.#validUntil = performance.now() + VALID_MS;
    }
  }
}

/** Scans all processes of the machine in slices. */
export function usageMeter(takeSnapshot = readSnapshot): Meter<MachineUsage> {
  return new Meter(async () => new MachineUsage(await takeSnapshot()));
}

function groupBy(
  stats: Iterable<ProcessStat>,
  key: (stat: ProcessStat) => number,
): Map<number, ProcessStat[]> {
  const groups = new Map<number, ProcessStat[]>();
  for (const stat of stats) {
    const group = groups.get(key(stat));
    if (group === undefined) groups.set(key(stat), [stat]);
    else group.push(stat);
  }
  return groups;
}
