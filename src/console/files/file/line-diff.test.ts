import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type DiffBlock, diffLines, diffRows } from "./line-diff.ts";

const lines = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12, size: "max" });

/** Puts the other text's lines into the blocks. */
function apply(mine: readonly string[], theirs: readonly string[], blocks: readonly DiffBlock[]): string[] {
  const made: string[] = [];
  let at = 0;
  for (const { mineFrom, mineTo, theirsFrom, theirsTo } of blocks) {
    made.push(...mine.slice(at, mineFrom), ...theirs.slice(theirsFrom, theirsTo));
    at = mineTo;
  }
  return [...made, ...mine.slice(at)];
}

/** Length of the longest common subsequence, the slow way. */
function commonLength(one: readonly string[], other: readonly string[]): number {
  const lengths = Array.from({ length: one.length + 1 }, () => Array<number>(other.length + 1).fill(0));
  for (let i = 1; i <= one.length; i++)
    for (let j = 1; j <= other.length; j++)
      lengths[i]![j] =
        one[i - 1] === other[j - 1]
          ? lengths[i - 1]![j - 1]! + 1
          : Math.max(lengths[i - 1]![j]!, lengths[i]![j - 1]!);
  return lengths[one.length]![other.length]!;
}

test("the blocks turn one text into the other, and everything outside them is the same", () => {
  fc.assert(
    fc.property(lines, lines, (mine, theirs) => {
      expect(apply(mine, theirs, diffLines(mine, theirs))).toEqual(theirs);
    }),
    { numRuns: 2000 },
  );
});

test("no more lines differ than must", () => {
  fc.assert(
    fc.property(lines, lines, (mine, theirs) => {
      const changed = diffLines(mine, theirs).reduce(
        (sum, { mineFrom, mineTo }) => sum + mineTo - mineFrom,
        0,
      );
      expect(mine.length - changed).toBe(commonLength(mine, theirs));
    }),
    { numRuns: 2000 },
  );
});

test("a line that was changed, one that was added and one that was removed", () => {
  const mine = ["one", "two", "three", "four", "five"];
  expect(diffLines(mine, mine)).toEqual([]);
  expect(diffLines(mine, ["one", "2", "three", "four", "five"])).toEqual([
    { mineFrom: 1, mineTo: 2, theirsFrom: 1, theirsTo: 2 },
  ]);
  expect(diffLines(mine, ["one", "three", "four", "five", "six"])).toEqual([
    { mineFrom: 1, mineTo: 2, theirsFrom: 1, theirsTo: 1 },
    { mineFrom: 5, mineTo: 5, theirsFrom: 4, theirsTo: 5 },
  ]);
});

test("texts that have nothing in common are compared in little time", () => {
  const [mine, theirs] = ["mine", "theirs"].map((name) =>
    Array.from({ length: 20_000 }, (_, index) => `${name} ${index}`),
  );
  const began = performance.now();
  expect(diffLines(mine!, theirs!)).toEqual([
    { mineFrom: 0, mineTo: 20_000, theirsFrom: 0, theirsTo: 20_000 },
  ]);
  expect(performance.now() - began).toBeLessThan(3000);
});

test("every line of both stands in a row or in a gap, beside its counterpart", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 60, size: "max" }),
      lines,
      (mine, more) => {
        const theirs = [...mine.slice(0, 20), ...more, ...mine.slice(30)];
        const { rows } = diffRows(mine, theirs, 1000);
        let [one, other] = [0, 0];
        for (const row of rows) {
          if (row.kind === "gap") {
            expect(row.lines).toBeGreaterThan(0);
            expect(mine.slice(one, one + row.lines)).toEqual(theirs.slice(other, other + row.lines));
            one += row.lines;
            other += row.lines;
            continue;
          }
          if (row.kind === "same") expect(row.mine?.text).toBe(row.theirs?.text);
          if (row.mine !== undefined) expect(row.mine).toEqual({ number: one + 1, text: mine[one++] });
          if (row.theirs !== undefined)
            expect(row.theirs).toEqual({ number: other + 1, text: theirs[other++] });
        }
        if (rows.length > 0) expect([one, other]).toEqual([mine.length, theirs.length]);
      },
    ),
    { numRuns: 2000 },
  );
});

test("rows are bounded", () => {
  const long = (name: string): string[] => Array.from({ length: 500 }, (_, index) => `${name} ${index}`);
  const { rows, isCut } = diffRows(long("mine"), long("theirs"), 100);
  expect(isCut).toBe(true);
  expect(rows).toHaveLength(100);
});
