import { constants } from "node:os";
import { isOutOfDescriptors } from "../../../native/descriptor-reserve.ts";
import { listChildren, type ProcessStat, readStat, signalProcess } from "../../../native/process-stat.ts";

/** How long a tree that keeps growing is followed at a stretch. */
const MAX_FOLLOW_MS = 500;

/**
 * Puts everything below a process into `found`, by parent links, which last as long as the parents do. With `stop` each one is stopped before its children
 * are looked for, and the tree is walked until nothing new is in it: a tree that forks as fast as it can comes to rest that way. Each step is short, because
 * trees can have thousands of members. Without a descriptor to look with, the search ends with those that were found before.
 */
export function* findDescendants(
  pid: number,
  found: Map<number, ProcessStat>,
  { stop }: { stop: boolean },
): Generator<void, void> {
  try {
    yield* follow(pid, found, { stop });
  } catch (error) {
    if (!isOutOfDescriptors(error)) throw error;
  }
}

function* follow(
  pid: number,
  found: Map<number, ProcessStat>,
  { stop }: { stop: boolean },
): Generator<void, void> {
  const deadline = performance.now() + MAX_FOLLOW_MS;
  for (;;) {
    const known = found.size;
    const parents = [pid, ...found.keys()];
    for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
      for (const child of listChildren(parent)) {
        if (found.has(child)) continue;
        const stat = readStat(child);
        if (stat?.parent !== parent) continue;
        found.set(child, stat);
        if (stop) signalProcess(stat, constants.signals.SIGSTOP);
        parents.push(child);
        yield;
      }
      yield;
    }
    if (!stop || found.size === known || performance.now() > deadline) return;
  }
}
