import { expect, test } from "vitest";
import { beginsHeader, isNewer, type JobHeader, parseEntry } from "./ledger-entries.ts";

const JOB: JobHeader = {
  kind: "job",
  version: 1,
  jobId: "j",
  input: { path: "/rows.csv", sha256: "00", rows: 3 },
  work: { command: "true" },
  at: "2026-01-01T00:00:00Z",
};

test.each<[object]>([
  [JOB],
  [{ ...JOB, input: { sha256: "", rows: 0 }, work: {} }],
  [{ kind: "run", at: "now", pid: 1 }],
  [{ kind: "stop", reason: "enough" }],
  [{ kind: "begin", index: 0, attempt: 0 }],
  [{ kind: "begin", index: 2, attempt: 1, host: "web-1" }],
  [{ kind: "retry", index: 2, attempt: 1, error: "no" }],
  ...["completed", "failed", "cancelled", "lost"].map((status): [object] => [
    { kind: "end", index: 2, id: "row-3", status, attempts: 1 },
  ]),
])("%j is a line of a job with three rows", (entry) => {
  expect(parseEntry(JSON.stringify(entry), JOB)).toEqual(entry);
});

test.each([
  ["no JSON", "{"],
  ["no object", "null"],
  ["no object", "7"],
  ["an unknown kind", { kind: "other" }],
  ["an older version", { ...JOB, version: 0 }],
  ["a job without an id", { ...JOB, jobId: 1 }],
  ["a job without input", { ...JOB, input: null }],
  ["a job whose input has no digest", { ...JOB, input: { rows: 3 } }],
  ["a job whose input has no number of rows", { ...JOB, input: { sha256: "00" } }],
  ["a job without work", { ...JOB, work: "true" }],
  ["a row that the job does not have", { kind: "begin", index: 3, attempt: 1 }],
  ["a row before the first", { kind: "begin", index: -1, attempt: 1 }],
  ["half a row", { kind: "begin", index: 0.5, attempt: 1 }],
  ["no row", { kind: "begin", attempt: 1 }],
  ["no attempt", { kind: "begin", index: 1 }],
  ["a retry of a row that the job does not have", { kind: "retry", index: 3, attempt: 1 }],
  ["a machine without a name", { kind: "begin", index: 0, attempt: 1, host: 7 }],
  ["the end of a row that the job does not have", { kind: "end", index: 3, status: "lost", attempts: 1 }],
  ["the end of no row", { kind: "end", status: "lost", attempts: 1 }],
  ["an end without attempts", { kind: "end", index: 0, status: "lost" }],
  ["an end that is none", { kind: "end", index: 0, status: "running", attempts: 1 }],
])("%s is not a line of a job: %j", (_, entry) => {
  expect(parseEntry(typeof entry === "string" ? entry : JSON.stringify(entry), JOB)).toBeUndefined();
});

test("before the header is known, only lines about the job itself are lines of it", () => {
  expect(parseEntry(JSON.stringify(JOB), undefined)).toEqual(JOB);
  expect(parseEntry('{"kind":"begin","index":0,"attempt":1}', undefined)).toBeUndefined();
});

test.each([
  ["", true],
  ['{"ki', true],
  ['{"kind":"job"', true],
  ['{"kind":"job","vers', true],
  ['{"kind":"run"', false],
  ["id,name", false],
])("%j, cut off, begins a ledger: %s", (text, expected) => {
  expect(beginsHeader(text)).toBe(expected);
});

test.each([
  [{ ...JOB, version: 2 }, true],
  [JOB, false],
  [{ ...JOB, version: "2" }, false],
  [{ kind: "run", version: 2 }, false],
  [null, false],
])("%j is of a newer version: %s", (entry, expected) => {
  expect(isNewer(JSON.stringify(entry))).toBe(expected);
});
