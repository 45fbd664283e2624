import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ActiveHttpRequest } from "./active-http-request.ts";

// Timers stay real: the clock passes the limit in a turn of the event loop in which no timer can fire.
beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

function request(timeoutMs: number | undefined): ActiveHttpRequest {
  return new ActiveHttpRequest("r", timeoutMs, () => {});
}

it("a request expires by the clock, before its timer has fired", () => {
  const limited = request(60_000);
  vi.advanceTimersByTime(59_999);
  expect([limited.expired, limited.aborted]).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  expect([limited.expired, limited.aborted]).toEqual([true, false]);
  limited.end();
});

it("a limit of 0 is over at once, and without a limit a request never expires", () => {
  const [over, unlimited] = [request(0), request(undefined)];
  expect([over.expired, over.aborted]).toEqual([true, true]);
  vi.advanceTimersByTime(Number.MAX_SAFE_INTEGER);
  expect([unlimited.expired, unlimited.aborted]).toEqual([false, false]);
});
