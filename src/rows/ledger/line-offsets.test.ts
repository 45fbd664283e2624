import { expect, test } from "vitest";
import { LineOffsets } from "./line-offsets.ts";

test("an offset is known for each row that has one, also 0, and the last one counts", () => {
  const offsets = new LineOffsets();
  expect(offsets.get(0)).toBeUndefined();
  offsets.set(0, 0);
  offsets.set(1, 5);
  offsets.set(1, 7);
  expect([offsets.get(0), offsets.get(1), offsets.get(2)]).toEqual([0, 7, undefined]);
});

test("rows are known however many there are, and those before them too", () => {
  const offsets = new LineOffsets();
  const rows = [3, 1_023, 1_024, 1_025, 100_000, 4_096, 200_000, 200_001];
  for (const row of rows) offsets.set(row, row * 2 ** 20);
  expect(rows.map((row) => offsets.get(row))).toEqual(rows.map((row) => row * 2 ** 20));
  expect([2, 1_022, 1_026, 99_999, 10_000_000].map((row) => offsets.get(row))).toEqual(
    Array(5).fill(undefined),
  );
});
