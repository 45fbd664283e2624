import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { RowOutcome } from "../engine/row.ts";
import { runFileJob } from "./file-job.ts";

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "rows-"));
  writeFileSync(join(directory, "in.csv"), "n\n1\n2\n3\n");
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

const DONE: RowOutcome = { status: "completed", result: "done" };
const output = (): string[] => readFileSync(join(directory, "out.csv"), "utf8").trimEnd().split("\n");
function job(
  { signal }: AbortController,
  run: (index: number) => Promise<RowOutcome>,
  { resume = false, check = () => {} }: { resume?: boolean; check?: () => void } = {},
) {
  const checked = (): undefined => {
    check();
    return undefined;
  };
  return runFileJob(
    { input: join(directory, "in.csv"), output: join(directory, "out.csv"), resume },
    { run: ({ item }) => run(item.index), identity: {}, check: () => checked },
    { signal, maxConcurrency: 1 },
  );
}

it("begins nothing if it is given up while the file is read", async () => {
  const controller = new AbortController();
  let checked = 0;
  const check = (): void => {
    checked += 1;
    controller.abort(new Error("enough"));
  };
  await expect(job(controller, async () => DONE, { check })).rejects.toThrow("enough");
  expect(checked).toBe(1);
  expect(readdirSync(directory)).toEqual(["in.csv"]);
});

it("keeps the ledger and the results if it is given up while what has ended is written again", async () => {
  const first = new AbortController();
  await job(first, async (index) => {
    if (index === 1) first.abort(new Error("enough"));
    return DONE;
  });
  const before = readdirSync(directory);
  const second = new AbortController();
  const written = output();
  const check = (): void => void setImmediate(() => second.abort(new Error("again")));
  await expect(job(second, async () => DONE, { resume: true, check })).rejects.toThrow("again");
  expect(readdirSync(directory)).toEqual(before);
  expect(output()).toEqual(written);
});

it("leaves the results in the order of their ends if ordering them takes too long after it was given up", async () => {
  const controller = new AbortController();
  const summary = await job(controller, async (index) => {
    if (index === 1) {
      controller.abort(new Error("enough"));
      let now = performance.now();
      vi.spyOn(performance, "now").mockImplementation(() => (now += 3_000));
    }
    return DONE;
  });
  expect(summary).toMatchObject({ end: "interrupted", isOrdered: false, groups: [], completed: 2 });
  expect(
    output()
      .slice(1)
      .map((line) => line.split(",")[0]),
  ).toEqual(["1", "2"]);
  expect(readdirSync(directory).sort()).toEqual(["in.csv", "out.csv", "out.csv.ledger"]);
  vi.restoreAllMocks();
  const resumed = await job(new AbortController(), async () => DONE, { resume: true });
  expect(resumed).toMatchObject({ end: "finished", isOrdered: true, completed: 3 });
  expect(
    output()
      .slice(1)
      .map((line) => line.split(",")[0]),
  ).toEqual(["1", "2", "3"]);
});
