import { expect, test } from "vitest";
import { isWithinShare } from "./fair-share.ts";

/** Takes slots until there are no more for it. */
function take(others: number, max: number): number {
  let own = 0;
  while (isWithinShare(own, others + own, max)) own += 1;
  return own;
}

test("each gets three quarters of what the others leave, and finds a slot as long as there is one", () => {
  const max = 128;
  const taken: number[] = [];
  for (let total = 0; total < max; total += taken.at(-1)!) taken.push(take(total, max));
  expect(taken).toEqual([96, 24, 6, 2]);
  expect(take(max, max)).toBe(0);
});

test("slots that others return are free for everyone", () => {
  expect(take(0, 4)).toBe(3);
  expect(take(3, 4)).toBe(1);
});
