import { getEventListeners } from "node:events";
import { userInfo } from "node:os";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { localCredential, watchValidity } from "./credential.ts";
import { FULL_RIGHTS } from "./rights.ts";

const EXPIRED = "the token or the client certificate has expired";
const WITHDRAWN = "the token was revoked, or its rights have changed";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

function watch(more: { expiresAtMs?: number; withdrawn?: AbortSignal }) {
  const reasons: string[] = [];
  const stop = watchValidity({ principal: "name:ann", rights: FULL_RIGHTS, ...more }, (reason) =>
    reasons.push(reason),
  );
  return { reasons, stop };
}

it("a credential ends when its time is over, and not before", () => {
  const { reasons } = watch({ expiresAtMs: 2_500 });
  vi.advanceTimersByTime(2_499);
  expect(reasons).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(reasons).toEqual([EXPIRED]);
  vi.advanceTimersByTime(10_000);
  expect([reasons.length, vi.getTimerCount()]).toEqual([1, 0]);
});

it("a credential whose time was over before ends, but not at once", () => {
  vi.setSystemTime(10);
  const { reasons } = watch({ expiresAtMs: 10 });
  expect(reasons).toEqual([]);
  vi.advanceTimersByTime(0);
  expect(reasons).toEqual([EXPIRED]);
});

it("a clock that is set is noticed within a second", () => {
  const { reasons } = watch({ expiresAtMs: 1_000_000_000 });
  vi.advanceTimersByTime(5_500);
  vi.setSystemTime(1_000_000_000);
  expect(reasons).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(reasons).toEqual([EXPIRED]);
});

it("a credential ends when it is withdrawn, also if it was before, but not at once", () => {
  const withdrawal = new AbortController();
  const early = watch({ withdrawn: withdrawal.signal });
  expect(early.reasons).toEqual([]);
  withdrawal.abort();
  expect(early.reasons).toEqual([WITHDRAWN]);
  const late = watch({ withdrawn: withdrawal.signal });
  expect(late.reasons).toEqual([]);
  vi.runAllTimers();
  expect(late.reasons).toEqual([WITHDRAWN]);
});

it("nothing is watched after it was stopped", () => {
  const withdrawal = new AbortController();
  const { reasons, stop } = watch({ expiresAtMs: 5_000, withdrawn: withdrawal.signal });
  vi.advanceTimersByTime(1_500);
  stop();
  expect([vi.getTimerCount(), getEventListeners(withdrawal.signal, "abort")]).toEqual([0, []]);
  withdrawal.abort();
  vi.advanceTimersByTime(10_000);
  expect(reasons).toEqual([]);
});

it("a credential without an end costs nothing", () => {
  const { reasons, stop } = watch({});
  expect(vi.getTimerCount()).toBe(0);
  stop();
  expect(reasons).toEqual([]);
});

it("without authentication, connections act for the user that runs the server", () => {
  expect(localCredential(FULL_RIGHTS)).toEqual({
    principal: `user:${userInfo().username}`,
    rights: FULL_RIGHTS,
  });
});
