import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDeferred } from "../../base/deferred.ts";
import { waitAtMost } from "./yield-window.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("waitAtMost", () => {
  const never = new Promise<void>(() => {});

  it("returns whether the promise was in time", async () => {
    await expect(waitAtMost(Promise.resolve(), 100)).resolves.toBe(true);
    const late = waitAtMost(never, 100);
    await vi.advanceTimersByTimeAsync(100);
    await expect(late).resolves.toBe(false);
    await expect(waitAtMost(never, -1)).resolves.toBe(false);
  });

  it("passes a rejection on, and swallows one that comes too late", async () => {
    await expect(waitAtMost(Promise.reject(new Error("no")), 100)).rejects.toThrow("no");
    const slow = createDeferred<void>();
    const waiting = waitAtMost(slow.promise, 100);
    await vi.advanceTimersByTimeAsync(100);
    await expect(waiting).resolves.toBe(false);
    slow.reject(new Error("late"));
  });

  it("rejects with the reason of its signal, before or while it waits", async () => {
    const reason = new Error("stop");
    await expect(waitAtMost(never, 100, AbortSignal.abort(reason))).rejects.toBe(reason);
    const stop = new AbortController();
    const waiting = waitAtMost(never, 100, stop.signal);
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it("leaves no timer behind", async () => {
    await waitAtMost(Promise.resolve(), 100);
    await waitAtMost(never, 0);
    await expect(waitAtMost(never, 100, AbortSignal.abort())).rejects.toThrow();
    expect(vi.getTimerCount()).toBe(0);
  });
});
