import { expect, test } from "vitest";
import type { ListedProcess } from "../../client/browser.ts";
import { nextSorting } from "../ui/arrange-rows.ts";
import { arrange, DEFAULT_SORTING, LARGEST_FIRST, type SortColumn } from "./arrange.ts";
import { ProcessHistory } from "../processes/process-history.ts";

function listed(name: string, more: Partial<ListedProcess> = {}): ListedProcess {
  return {
    processId: name,
    own: false,
    pid: 1,
    argv: ["sh", "-c", `echo ${name}`],
    cwd: "file:///",
    label: null,
    tty: false,
    startedAtMs: 1000,
    state: "running",
    exitCode: null,
    outputBytes: 0,
    retainedBytes: 0,
    name,
    owner: "me",
    ...more,
  };
}

function usage(cpuMs: number, atMs: number) {
  return { cpuMs, memoryBytes: 1, processes: 1, atMs };
}

test("rates come from two lists, by the time of the measurement", () => {
  const history = new ProcessHistory();
  const [first] = history.update([listed("a", { usage: usage(100, 5000) })], 0, 1000);
  expect([first!.cpu, first!.rate]).toEqual([undefined, 0]);
  expect(history.clockMs).toBe(4000);
  const [second] = history.update([listed("a", { outputBytes: 500, usage: usage(350, 5500) })], 2000, 3000);
  expect([second!.cpu, second!.rate]).toEqual([50, 250]);
  expect(second!.rates).toEqual([0, 250]);
  // Another page has had the same measurement.
  const [third] = history.update([listed("a", { outputBytes: 500, usage: usage(350, 5500) })], 2500, 3500);
  expect([third!.cpu, third!.rate]).toEqual([50, 0]);
});

test("another process of the same name starts again", () => {
  const history = new ProcessHistory();
  history.update([listed("a", { outputBytes: 900 })], 0);
  const [row] = history.update([listed("a", { outputBytes: 100, startedAtMs: 2000 })], 1000);
  expect(row!.rates).toEqual([0]);
});

test("running processes are first, and each column sorts both ways", () => {
  const rows = new ProcessHistory().update(
    [
      listed("old", { startedAtMs: 1 }),
      listed("over", { startedAtMs: 9, endedAtMs: 9, state: "closed", exitCode: 0 }),
      listed("young", { startedAtMs: 5, usage: { ...usage(0, 1), memoryBytes: 9 } }),
    ],
    0,
  );
  const names = (sorting = DEFAULT_SORTING, filter = ""): (string | undefined)[] =>
    arrange(rows, { filter, sorting }).map((row) => row.listed.name);
  expect(names()).toEqual(["young", "old", "over"]);
  expect(names({ column: "age", isDescending: true })).toEqual(["old", "young", "over"]);
  const clicked = (column: SortColumn) => nextSorting(column, DEFAULT_SORTING, LARGEST_FIRST);
  expect(names(clicked("memory"))).toEqual(["young", "old", "over"]);
  expect(names(clicked("command"))).toEqual(["old", "young", "over"]);
  expect(names(DEFAULT_SORTING, "ECHO o")).toEqual(["young", "old", "over"]);
  expect(names(DEFAULT_SORTING, "echo ov")).toEqual(["over"]);
  expect(names(DEFAULT_SORTING, "nothing")).toEqual([]);
});
