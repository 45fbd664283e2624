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
  ofFamily(leader: number): Usage {
    const members = new Set<number>([leader]);
    for (const { pid } of this.#bySession.get(leader) ?? []) members.add(pid);
    // A set can grow while it is read.
    for (const pid of members) for (const child of this.#byParent.get(pid) ?? []) members.add(child.pid);
    return this.of(members);
  }
}

/** One scan of all processes serves every request within this time. */
const VALID_MS = 500;

/** Scans all processes of the machine, once for all requests, and in slices. */
export class UsageMeter {
  readonly #takeSnapshot: () => Promise<ProcessSnapshot>;
  #latest: Promise<MachineUsage | undefined> | undefined;
  #validUntil = 0;

  constructor(takeSnapshot: () => Promise<ProcessSnapshot> = readSnapshot) {
    this.#takeSnapshot = takeSnapshot;
  }

  /** Undefined without a free descriptor. */
  measure(): Promise<MachineUsage | undefined> {
    if (this.#latest !== undefined && performance.now() < this.#validUntil) return this.#latest;
    // No other scan starts while this one runs.
    this.#validUntil = Number.POSITIVE_INFINITY;
    this.#latest = this.#measure();
    return this.#latest;
  }

  async #measure(): Promise<MachineUsage | undefined> {
    try {
      return new MachineUsage(await this.#takeSnapshot());
    } catch (error) {
      if (isOutOfDescriptors(error)) return undefined;
      throw error;
    } finally {
      this.#validUntil = performance.now() + VALID_MS;
    }
  }
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
