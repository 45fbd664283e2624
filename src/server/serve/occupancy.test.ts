import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Occupancy } from "./occupancy.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watched() {
  const call = vi.fn();
  return { call, occupancy: new Occupancy({ afterMs: 1000, call }) };
}

it("a server that nobody ever uses is idle from its start", () => {
  const { call } = watched();
  vi.advanceTimersByTime(999);
  expect(call).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(call).toHaveBeenCalledTimes(1);
});

it("the time starts again with the end of the last use", () => {
  const { call, occupancy } = watched();
  vi.advanceTimersByTime(900);
  const [leaveFirst, leaveSecond] = [occupancy.enter(), occupancy.enter()];
  vi.advanceTimersByTime(5000);
  leaveFirst();
  vi.advanceTimersByTime(5000);
  expect(occupancy.isIdle).toBe(false);
  leaveSecond();
  expect(occupancy.isIdle).toBe(true);
  vi.advanceTimersByTime(999);
  expect(call).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(call).toHaveBeenCalledTimes(1);
});

it("leaving twice counts once", () => {
  const { call, occupancy } = watched();
  const leave = occupancy.enter();
  occupancy.enter();
  leave();
  leave();
  expect(occupancy.isIdle).toBe(false);
  vi.advanceTimersByTime(5000);
  expect(call).not.toHaveBeenCalled();
});

it("without a callback nothing is timed", () => {
  const occupancy = new Occupancy();
  occupancy.enter()();
  expect([occupancy.isIdle, vi.getTimerCount()]).toEqual([true, 0]);
});
