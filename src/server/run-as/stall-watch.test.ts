import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ASK_MS, StallWatch, MAX_SILENCES } from "./stall-watch.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Watches a program for some looks. Both functions say whether it answers. */
function watch(looks: number, asked: (count: number) => boolean, revived: () => boolean) {
  const calls = { asked: 0, revived: 0, lost: 0 };
  const stallWatch = new StallWatch({
    ask: () => {
      calls.asked += 1;
      if (asked(calls.asked)) stallWatch.heard();
    },
    revive: () => {
      calls.revived += 1;
      if (revived()) stallWatch.heard();
    },
    lost: () => {
      calls.lost += 1;
    },
  });
  vi.advanceTimersByTime(looks * ASK_MS);
  stallWatch.close();
  return calls;
}

it("a program that answers is asked again and again", () => {
  const always = () => true;
  expect(watch(100, always, always)).toEqual({ asked: 100, revived: 0, lost: 0 });
});

it("one that is stopped now and then is revived, and never given up", () => {
  const sometimes = (count: number) => count % 3 !== 0;
  expect(watch(1_000, sometimes, () => true)).toEqual({ asked: 750, revived: 250, lost: 0 });
});

it("one that stays silent is given up once", () => {
  const never = () => false;
  expect(watch(100, never, never)).toEqual({ asked: 1, revived: MAX_SILENCES - 1, lost: 1 });
});

it("one that is stopped again whenever it is revived is given up", () => {
  expect(
    watch(
      100,
      () => false,
      () => true,
    ),
  ).toEqual({ asked: MAX_SILENCES, revived: MAX_SILENCES - 1, lost: 1 });
});
