import { pageBytes, type ProcessStat, TICKS_PER_SECOND } from "../../../native/process-stat.ts";
import type { ProcessSnapshot } from "../process-snapshot.ts";

/** What processes use together. */
export interface Usage {
  /** Processor time so far. */
  readonly cpuMs: number;
  /** Memory that they have in use; what they share counts for each. */
  readonly memoryBytes: number;
  readonly processes: number;
  /** When it was measured, since the epoch. */
  readonly atMs: number;
}

/** What was used on the machine at one moment. */
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
      // A process that nobody has reaped has used its time, but is not there.
      ticks += stat.cpuTicks;
      if (!stat.alive) continue;
      pages += stat.residentPages;
      processes += 1;
    }
    return {
      cpuMs: (ticks * 1000) / TICKS_PER_SECOND,
      memoryBytes: pages * bytesPerPage(),
      processes,
      atMs: this.#atMs,
    };
  }

  /** A process that leads a session, what is in that session, and all their descendants. */
  ofFamily(leader: number): Usage {
    const found = new Set<number>([leader]);
    for (const { pid } of this.#bySession.get(leader) ?? []) found.add(pid);
    // A set can grow while it is read.
    for (const pid of found) for (const child of this.#byParent.get(pid) ?? []) found.add(child.pid);
    return this.of(found);
  }
}

let pageSize: number | undefined;

function bytesPerPage(): number {
  pageSize ??= pageBytes();
  return pageSize;
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
