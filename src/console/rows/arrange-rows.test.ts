import { expect, test } from "vitest";
import { arrangeRows, DEFAULT_SORTING, type RowColumn } from "./arrange-rows.ts";
import type { EndedRow } from "./ledger-reader.ts";

const row = (index: number, id: string, changed: Partial<EndedRow> = {}): EndedRow => ({
  index,
  id,
  status: "completed",
  attempts: 1,
  durationMs: 10,
  exitCode: 0,
  host: "local",
  error: "",
  result: "",
  isCut: false,
  ...changed,
});

const ROWS = [
  row(2, "row-10", { result: "beta 2", durationMs: 5 }),
  row(0, "row-2", { result: "alpha", attempts: 3 }),
  row(3, "row-1", { status: "lost", durationMs: undefined }),
  row(1, "row-9", { status: "failed", error: "exit status 1", durationMs: 900 }),
];

const ids = (filter: string, column: RowColumn = "state", isDescending = false): string[] =>
  arrangeRows(ROWS, { filter, sorting: { column, isDescending } }).map(({ id }) => id);

test("rows that failed come first, then all in the order of the file", () => {
  expect(arrangeRows(ROWS, { filter: "", sorting: DEFAULT_SORTING }).map(({ index }) => index)).toEqual([
    1, 3, 0, 2,
  ]);
});

test.each<[RowColumn, string[]]>([
  ["row", ["row-2", "row-9", "row-10", "row-1"]],
  ["id", ["row-1", "row-2", "row-9", "row-10"]],
  ["attempts", ["row-9", "row-10", "row-1", "row-2"]],
  ["time", ["row-1", "row-10", "row-2", "row-9"]],
  ["result", ["row-1", "row-2", "row-10", "row-9"]],
])("rows are sorted by %s", (column, order) => {
  expect(ids("", column)).toEqual(order);
});

test("the order can be reversed", () => {
  expect(ids("", "row", true)).toEqual(["row-1", "row-10", "row-9", "row-2"]);
});

test.each([
  ["", 4],
  ["completed", 2],
  ["BETA", 1],
  ["exit 1", 1],
  ["2 beta", 1],
  ["nothing", 0],
])("the filter %j leaves %d", (filter, count) => {
  expect(ids(filter).length).toBe(count);
});
