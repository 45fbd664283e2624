import { expect, onTestFinished, test, vi } from "vitest";
import type { ProcessStat } from "../../../native/process-stat.ts";
import { MachineUsage, usageMeter } from "./machine-usage.ts";

const PAGE = 4096;

function stat(pid: number, more: Partial<ProcessStat> = {}): [number, ProcessStat] {
  const plain = { parent: 1, group: pid, session: pid, startTicks: 1, stopped: false, alive: true };
  return [pid, { pid, ...plain, cpuTicks: 1, residentPages: 1, ...more }];
}

test("a family is the session of its leader and all descendants, each counted once", () => {
  const machine = new MachineUsage(
    new Map([
      stat(10),
      stat(11, { parent: 10, session: 10 }),
      // It left the session, but has its parent.
      stat(12, { parent: 11, cpuTicks: 5 }),
      // It lost its parent, but is in the session.
      stat(13, { session: 10, residentPages: 7 }),
      stat(14, { parent: 13 }),
      stat(20, { cpuTicks: 1000 }),
    ]),
    5,
  );
  expect(machine.of(machine.familyOf(10))).toEqual({
    cpuMs: 90,
    memoryBytes: 11 * PAGE,
    processes: 5,
    atMs: 5,
  });
  expect(machine.of(machine.familyOf(99))).toEqual({ cpuMs: 0, memoryBytes: 0, processes: 0, atMs: 5 });
});

test("a process that nobody reaped has used time, and nothing else", () => {
  const machine = new MachineUsage(new Map([stat(10), stat(11, { parent: 10, alive: false })]), 5);
  expect(machine.of(machine.familyOf(10))).toEqual({ cpuMs: 20, memoryBytes: PAGE, processes: 1, atMs: 5 });
});

test("a look serves everybody who asks while it lasts and shortly after", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let looks = 0;
  const meter = usageMeter(async () => {
    looks += 1;
    await new Promise((resolve) => setImmediate(resolve));
    return new Map();
  });
  const [one, other] = await Promise.all([meter.measure(), meter.measure()]);
  expect(one).toBe(other);
  vi.advanceTimersByTime(499);
  expect(await meter.measure()).toBe(one);
  expect(looks).toBe(1);
  vi.advanceTimersByTime(1);
  expect(await meter.measure()).not.toBe(one);
  expect(looks).toBe(2);
});

test("without a descriptor to look with, nothing is known", async () => {
  const meter = usageMeter(() => Promise.reject(Object.assign(new Error("none"), { code: "EMFILE" })));
  expect(await meter.measure()).toBeUndefined();
});
