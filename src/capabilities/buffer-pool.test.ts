import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { BufferPool } from "./buffer-pool.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("hands out again what was given back, and no more than so many", () => {
  const pool = new BufferPool({ bytes: 8, maxFree: 1 });
  const [first, second] = [pool.take(), pool.take()];
  expect(first).not.toBe(second);
  pool.giveBack(first);
  pool.giveBack(second);
  expect(pool.take()).toBe(first);
  expect(pool.take()).not.toBe(second);
});

it("lets go of what has not been used for a while, and starts again after that", () => {
  const pool = new BufferPool({ bytes: 8, maxFree: 1 });
  const first = pool.take();
  pool.giveBack(first);
  vi.advanceTimersByTime(3_000);
  expect(pool.take()).toBe(first);
  pool.giveBack(first);
  vi.advanceTimersByTime(6_000);
  expect(vi.getTimerCount()).toBe(0);
  const later = pool.take();
  expect(later).not.toBe(first);
  pool.giveBack(later);
  expect(pool.take()).toBe(later);
});
