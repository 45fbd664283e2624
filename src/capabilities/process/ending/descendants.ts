import { constants } from "node:os";
import { isOutOfDescriptors } from "../../../native/descriptor-reserve.ts";
import { listChildren, type ProcessStat, readStat, signalProcess } from "../../../native/process-stat.ts";

/** Maximum time for following a growing tree without a break. */
const MAX_FOLLOW_MS = 500;

/**
 * Collects all descendants of a process in `descendants`, by parent links, which last as long as the parents. With
 * `stop`, each is stopped before its children are searched, and the tree is walked until nothing new appears: this
 * brings even a fork bomb to rest. Each step is short, because trees can have thousands of members. Without a free
 * descriptor, the search ends with what it has so far.
 */
export function* findDescendants(
  pid: number,
  descendants: Map<number, ProcessStat>,
  { stop }: { stop: boolean },
): Generator<void, void> {
  const deadline = performance.now() + MAX_FOLLOW_MS;
  try {
    for (;;) {
      const known = descendants.size;
      const parents = [pid, ...descendants.keys()];
      for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
        for (const child of listChildren(parent)) {
          if (descendants.has(child)) continue;
          const stat = readStat(child);
          if (stat?.parent !== parent) continue;
          descendants.set(child, stat);
          if (stop) signalProcess(stat, constants.signals.SIGSTOP);
          parents.push(child);
          yield;
        }
        yield;
      }
      if (!stop || descendants.size === known || performance.now() > deadline) return;
    }
  } catch (error) {
    if (!isOutOfDescriptors(error)) throw error;
  }
}
