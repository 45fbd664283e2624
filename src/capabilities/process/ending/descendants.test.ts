import { describe, expect, it } from "vitest";
import { runScript } from "../../../../test/fixtures/running-script.ts";
import { withoutDescriptors } from "../../../../test/fixtures/without-descriptors.ts";
import { type ProcessStat, readStat } from "../../../native/process-stat.ts";
import { findDescendants } from "./descendants.ts";

/** A process with two children, one of which has a child in another session, and their pids. */
async function growTree(): Promise<{ pid: number; child: number; parent: number; grandchild: number }> {
  const script = runScript("sleep 60 & echo $!; sh -c 'setsid sleep 60 & echo $$ $!; wait' & wait");
  const child = Number(await script.readLine());
  const [parent, grandchild] = (await script.readLine()).split(" ").map(Number);
  return { pid: script.pid, child, parent: parent!, grandchild: grandchild! };
}

const sorted = (...pids: number[]): number[] => pids.sort((one, other) => one - other);

function find(pid: number, family = new Map<number, ProcessStat>(), stop = false): number[] {
  for (const _ of findDescendants(pid, family, { stop }));
  return sorted(...family.keys());
}

describe("findDescendants", () => {
  it("finds children of children, whatever session they are in", async () => {
    const { pid, child, parent, grandchild } = await growTree();
    expect(find(pid)).toEqual(sorted(child, parent, grandchild));
    expect(find(grandchild)).toEqual([]);
    process.kill(grandchild, "SIGKILL");
  });

  it("stops all of them on request, and not the process itself", async () => {
    const { pid, child, parent, grandchild } = await growTree();
    expect(find(pid, new Map(), true)).toEqual(sorted(child, parent, grandchild));
    for (const each of [child, parent, grandchild])
      await expect.poll(() => readStat(each)?.stopped).toBe(true);
    expect(readStat(pid)?.stopped).toBe(false);
    process.kill(grandchild, "SIGKILL");
  });

  it("looks again only at a tree that is stopped, until it has not grown", async () => {
    const { pid, grandchild } = await growTree();
    const steps = (stop: boolean): number => [...findDescendants(pid, new Map(), { stop })].length;
    // Each member is found once, and asked for its children in each look; the second look finds nothing.
    expect(steps(false)).toBe(3 + 4);
    expect(steps(true)).toBe(3 + 2 * 4);
    process.kill(grandchild, "SIGKILL");
  });

  it("looks below what was found before", async () => {
    const { pid, child, parent, grandchild } = await growTree();
    const family = new Map([[parent, readStat(parent)!]]);
    expect(find(pid, family)).toEqual(sorted(child, parent, grandchild));
    process.kill(grandchild, "SIGKILL");
  });

  it("ends with what it has found when no descriptor is free", async () => {
    const { pid, parent, grandchild } = await growTree();
    const family = new Map<number, ProcessStat>([[parent, readStat(parent)!]]);
    expect(withoutDescriptors(() => find(pid, family))).toEqual([parent]);
    process.kill(grandchild, "SIGKILL");
  });
});
