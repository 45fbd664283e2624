import { listPids, type ProcessStat, readStat } from "../../native/process-stat.ts";
import { inSlices } from "./slices.ts";

/** All processes that this one can see, by pid. */
export type ProcessSnapshot = ReadonlyMap<number, ProcessStat>;

/** Throws without a free descriptor. */
export async function readSnapshot(): Promise<ProcessSnapshot> {
  const snapshot = new Map<number, ProcessStat>();
  await inSlices(listPids(), (pid) => {
    const stat = readStat(pid);
    if (stat !== undefined) snapshot.set(pid, stat);
  });
  return snapshot;
}
