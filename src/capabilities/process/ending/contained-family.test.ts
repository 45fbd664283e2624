import { describe, expect, it } from "vitest";
import type { ControlGroup } from "../../../native/control-group.ts";
import { MachineUsage } from "../usage/machine-usage.ts";
import { containedFamily } from "./contained-family.ts";
import type { ControlGroups } from "./control-groups.ts";
import type { ProcessFamily } from "./process-family.ts";

/** A family of the process 10, which has one more process, and the signals that its two groups got. */
function contain(cpuMs: number | undefined): { family: ProcessFamily; calls: string[] } {
  const calls: string[] = [];
  let isOpen = true;
  const groups: Partial<ControlGroups> = {
    has: () => isOpen,
    ask: () => void calls.push("ask"),
    kill: () => {
      calls.push("kill");
      isOpen = false;
    },
    release: () => void calls.push("release"),
  };
  const controlGroup: Partial<ControlGroup> = { pids: () => [10, 11], cpuMs: () => cpuMs };
  const family = containedFamily(
    {
      gone: false,
      signal: (signal) => void calls.push(signal),
      leaderReaped: () => void calls.push("reaped"),
    },
    controlGroup as ControlGroup,
    groups as ControlGroups,
  );
  return { family, calls };
}

describe("a contained family", () => {
  it("gets signals in its process group, and ends as a whole", () => {
    const { family, calls } = contain(0);
    family.signal("SIGHUP");
    family.terminate([]);
    family.leaderReaped();
    expect(calls.splice(0)).toEqual(["SIGHUP", "ask", "reaped", "release"]);
    expect([family.contained, family.gone]).toEqual([true, false]);
    family.killGroup();
    expect(calls.splice(0)).toEqual(["SIGKILL", "kill"]);
    expect(family.gone).toBe(true);
    // Its number may be another's.
    family.kill([]);
    expect(calls).toEqual([]);
  });

  it("uses the time that the kernel counts, or that of its members", () => {
    const stat = { parent: 1, group: 1, session: 1, startTicks: 1, stopped: false, alive: true };
    const snapshot = new Map(
      [10, 11, 12].map((pid) => [pid, { pid, ...stat, cpuTicks: 5, residentPages: 1 }]),
    );
    const machine = new MachineUsage(snapshot, 7);
    const used = { memoryBytes: machine.of([10, 11]).memoryBytes, processes: 2, atMs: 7 };
    expect(contain(1_234).family.usage(machine)).toEqual({ cpuMs: 1_234, ...used });
    expect(contain(undefined).family.usage(machine)).toEqual({ cpuMs: 100, ...used });
  });
});
