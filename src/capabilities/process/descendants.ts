import { constants } from "node:os";
import { isOutOfDescriptors } from "../descriptor-reserve.ts";
import { listChildren, type ProcessStat, readStat, signalProcess } from "./process-stat.ts";

/** How long a tree that keeps growing is followed at a stretch. */
const MAX_FOLLOW_MS = 500;

/**
 * Everything below a process by parent links, which last as long as the parents do. With `stop` each one is stopped before its children are
 * looked for, and the tree is walked until nothing new is in it: a tree that forks as fast as it can comes to rest that way. Without a
 * descriptor to look with, those are returned that were found before.
 */
export function findDescendants(pid: number, { stop }: { stop: boolean }): ProcessStat[] {
  const found = new Map<number, ProcessStat>();
  try {
    follow(pid, found, { stop });
  } catch (error) {
    if (!isOutOfDescriptors(error)) throw error;
  }
  return [...found.values()];
}

function follow(pid: number, found: Map<number, ProcessStat>, { stop }: { stop: boolean }): void {
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
      }
    }
    if (!stop || found.size === known || performance.now() > deadline) return;
  }
}
