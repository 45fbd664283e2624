import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { openIn } from "../../../test/fixtures/temporary-directory.ts";
import type { RowItem, RowRecord } from "../engine/row.ts";
import { FileLedger } from "./file-ledger.ts";
import type { JobHeader } from "./ledger-entries.ts";

const HEADER: JobHeader = {
  kind: "job",
  version: 1,
  jobId: "job-1",
  input: { path: "/rows.csv", sha256: "00", rows: 5_000 },
  work: { command: "true" },
  at: "2026-01-01T00:00:00Z",
};
const LOST = "lost with its machine";

let folder = "";
let path = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "file-ledger-"));
  path = join(folder, "job.ledger");
});
afterEach(() => rmSync(folder, { recursive: true }));

test("what was recorded is known at once, and again when the job is resumed", async () => {
  const ledger = await FileLedger.create(path, HEADER);
  await ledger.begin(row(0), 1, "web-1");
  await ledger.settle(row(0), record(0, { result: "ü" }));
  await ledger.begin(row(1), 1, "web-2");
  await ledger.retry(row(1), 1, LOST, true);
  await ledger.begin(row(2), 3);
  await ledger.begin(row(4_999), 2, "web-3");
  for (const known of [ledger, await closedAndResumed(ledger)]) {
    expect(known.jobId).toBe("job-1");
    expect([0, 1, 2, 3, 4_999].map((index) => known.statusOf(index))).toEqual([
      "completed",
      "pending",
      "running",
      "pending",
      "running",
    ]);
    expect([0, 1, 2, 3, 4_999].map((index) => known.attemptsOf(index))).toEqual([1, 1, 3, 0, 2]);
    expect([0, 1, 2, 3, 4_999].map((index) => known.placeOf(index))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      "web-3",
    ]);
    expect([...known.places]).toEqual(["web-1", "web-2", "web-3"]);
  }
  const resumed = await FileLedger.resume(path, HEADER, () => {});
  expect(await resumed.recordOf(0)).toEqual(record(0, { result: "ü" }));
  expect(await resumed.recordOf(1)).toEqual({ status: "pending", attempts: 1, error: LOST });
  expect(await resumed.recordOf(2)).toEqual({ status: "running", attempts: 3 });
  expect(await resumed.recordOf(3)).toEqual({ status: "pending", attempts: 0 });
  await resumed.close();
  expect(lines().filter(({ kind }) => kind === "retry")).toEqual([
    { kind: "retry", index: 1, attempt: 1, error: LOST, lost: true },
  ]);
});

test("an attempt without a machine does not have that of the attempt before it", async () => {
  const ledger = await FileLedger.create(path, HEADER);
  await ledger.begin(row(0), 1, "web-1");
  await ledger.begin(row(0), 2);
  for (const known of [ledger, await closedAndResumed(ledger)]) expect(known.placeOf(0)).toBeUndefined();
});

test("the last record of a row counts, also while others follow", async () => {
  const ledger = await FileLedger.create(path, HEADER);
  await ledger.retry(row(0), 1, "first");
  await Promise.all([
    ledger.retry(row(1), 1, "other"),
    ledger.settle(row(0), record(0, { status: "failed", error: "second", attempts: 2 })),
    ledger.settle(row(2), record(2)),
  ]);
  expect(await ledger.recordOf(0)).toEqual(record(0, { status: "failed", error: "second", attempts: 2 }));
  expect(await ledger.recordOf(2)).toEqual(record(2));
  expect(await ledger.recordOf(1)).toEqual({ status: "pending", attempts: 1, error: "other" });
  await ledger.close();
});

test("why nothing more began is recorded", async () => {
  const ledger = await FileLedger.create(path, HEADER);
  expect(ledger.stopReason).toBeUndefined();
  await ledger.stop("too many failures");
  expect(ledger.stopReason).toBe("too many failures");
  expect(lines().at(-1)).toEqual({ kind: "stop", reason: "too many failures" });
  await ledger.close();
});

test("a ledger begins with the job and the program that runs it, and is for its owner alone", async () => {
  await using ledger = await FileLedger.create(path, HEADER);
  expect(ledger.path).toBe(path);
  expect(lines()).toEqual([HEADER, { kind: "run", at: expect.any(String), pid: process.pid }]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a job is worked on by one program at a time, until its ledger is closed", async () => {
  const ledger = await FileLedger.create(path, HEADER);
  await expect(FileLedger.resume(path, HEADER, () => {})).rejects.toThrow("is working on this job");
  await ledger.close();
  expect(readdirSync(folder)).toEqual(["job.ledger"]);
  await (await FileLedger.resume(path, HEADER, () => {})).close();
});

test.each([
  ["there is one already", () => FileLedger.create(path, HEADER), "cannot open the ledger"],
  [
    "it is not the same",
    () =>
      FileLedger.resume(path, HEADER, () => {
        throw new Error("another job");
      }),
    "another job",
  ],
])("a ledger that is refused because %s stays as it was, and unlocked", async (_, open, why) => {
  await (await FileLedger.create(path, HEADER)).close();
  const before = readFileSync(path, "utf8");
  await expect(open()).rejects.toThrow(why);
  expect(readFileSync(path, "utf8")).toBe(before);
  expect(readdirSync(folder)).toEqual(["job.ledger"]);
});

test("a job that never began cannot be resumed", async () => {
  await expect(FileLedger.resume(path, HEADER, () => {})).rejects.toThrow(
    `there is no job to resume: ${path} does not exist`,
  );
  expect(readdirSync(folder)).toEqual([]);
});

test("half a line at the end is dropped, and the next one begins where it was", async () => {
  await (await FileLedger.create(path, HEADER)).close();
  const whole = readFileSync(path, "utf8");
  writeFileSync(path, `${whole}{"kind":"begin","index":0,"att`);
  const ledger = await FileLedger.resume(path, HEADER, () => {});
  expect(ledger.statusOf(0)).toBe("pending");
  await ledger.settle(row(0), record(0));
  expect(await ledger.recordOf(0)).toEqual(record(0));
  await ledger.close();
  expect(readFileSync(path, "utf8").startsWith(`${whole}{"kind":"run"`)).toBe(true);
  expect(lines().map(({ kind }) => kind)).toEqual(["job", "run", "run", "end"]);
});

test("a line that is not UTF-8 does not make the file longer", async () => {
  await (await FileLedger.create(path, HEADER)).close();
  const stop = Buffer.from('{"kind":"stop","reason":"\xff"}\n', "latin1");
  writeFileSync(path, Buffer.concat([readFileSync(path), stop]));
  const size = statSync(path).size;
  const ledger = await FileLedger.resume(path, HEADER, () => {});
  await ledger.settle(row(0), record(0));
  await ledger.close();
  expect(readFileSync(path).toString("latin1", size)).toMatch(/^\{"kind":"run"/);
  const again = await FileLedger.resume(path, HEADER, () => {});
  expect(again.statusOf(0)).toBe("completed");
  await again.close();
});

test.each(["", '{"kind":"job","vers'])("a job whose header was cut off (%j) begins anew", async (text) => {
  writeFileSync(path, text);
  const checked: JobHeader[] = [];
  const ledger = await FileLedger.resume(path, HEADER, (begun) => void checked.push(begun));
  expect(checked).toEqual([]);
  expect(ledger.header).toEqual(HEADER);
  await ledger.close();
  expect(lines().map(({ kind }) => kind)).toEqual(["job", "run"]);
});

test("the job that was begun counts, not the one that it is resumed as", async () => {
  await (await FileLedger.create(path, HEADER)).close();
  const checked: JobHeader[] = [];
  const ledger = await FileLedger.resume(
    path,
    { ...HEADER, jobId: "job-2" },
    (begun) => void checked.push(begun),
  );
  expect(checked).toEqual([HEADER]);
  expect(ledger.header).toEqual(HEADER);
  await ledger.close();
});

const BEGIN = '{"kind":"begin","index":0,"attempt":1}';

test.each([
  ["is of a newer version", [JSON.stringify({ ...HEADER, version: 2 })], "was written by a newer version"],
  ["does not begin with a job", [BEGIN], "line 1: this is not the ledger of a job, or it is damaged"],
  ["has a second job", [JSON.stringify(HEADER), JSON.stringify(HEADER)], "line 2: this is not the ledger"],
  ["has a damaged line", [JSON.stringify(HEADER), BEGIN, "{}", BEGIN], "line 3: this is not the ledger"],
])("a file that %s is refused, and stays as it is", async (_, text, why) => {
  writeFileSync(path, `${text.join("\n")}\n`);
  await expect(FileLedger.resume(path, HEADER, () => {})).rejects.toThrow(why);
  expect(readFileSync(path, "utf8")).toBe(`${text.join("\n")}\n`);
  expect(readdirSync(folder)).toEqual(["job.ledger"]);
});

test("half a line of something that is no ledger is refused, not dropped", async () => {
  writeFileSync(path, "id,name");
  await expect(FileLedger.resume(path, HEADER, () => {})).rejects.toThrow("line 1: this is not the ledger");
  expect(readFileSync(path, "utf8")).toBe("id,name");
});

test("no descriptor stays open, whether a ledger is closed, resumed or refused", async () => {
  await (await FileLedger.create(path, HEADER)).close();
  await (await FileLedger.resume(path, HEADER, () => {})).close();
  const refuse = (): never => {
    throw new Error("another job");
  };
  await expect(FileLedger.resume(path, HEADER, refuse)).rejects.toThrow("another job");
  expect(openIn(folder)).toEqual([]);
});

test("what was recorded before a ledger is closed is in the file, also if nobody has waited for it", async () => {
  const ledger = await FileLedger.create(path, HEADER);
  void ledger.settle(row(0), record(0));
  await ledger.close();
  expect(lines().at(-1)).toMatchObject({ kind: "end", index: 0 });
});

test.each<[string, (ledger: FileLedger) => Promise<void>]>([
  ["begin", (ledger) => ledger.begin(row(0), 2, "web-2")],
  ["retry", (ledger) => ledger.retry(row(0), 1, LOST)],
  ["end", (ledger) => ledger.settle(row(0), record(0))],
  ["stop", (ledger) => ledger.stop("too many failures")],
])("a %s that the disk does not take is an error, and the row stays as it was", async (_, work) => {
  const ledger = await FileLedger.create(path, HEADER);
  await ledger.begin(row(0), 1, "web-1");
  await failDisk("ENOSPC");
  await expect(work(ledger)).rejects.toThrow(`cannot write ${path}: ENOSPC`);
  expect([ledger.statusOf(0), ledger.attemptsOf(0), ledger.placeOf(0)]).toEqual(["running", 1, "web-1"]);
  await ledger.close();
});

test("a ledger that cannot be begun is an error, and stays unlocked and closed", async () => {
  await failDisk("EIO");
  await expect(FileLedger.create(path, HEADER)).rejects.toThrow(`cannot write ${path}: EIO`);
  await expect(FileLedger.resume(path, HEADER, () => {})).rejects.toThrow(`cannot write ${path}: EIO`);
  expect(readdirSync(folder)).toEqual(["job.ledger"]);
  expect(openIn(folder)).toEqual([]);
});

test("a ledger that somebody has changed meanwhile is noticed", async () => {
  const ledger = await FileLedger.create(path, HEADER);
  await ledger.settle(row(0), record(0));
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace('"kind":"end"', '"kind":"END"'));
  await expect(ledger.recordOf(0)).rejects.toThrow(`${path} changed while it was in use`);
  await ledger.close();
});

/** From here on, no flush of a file succeeds. */
async function failDisk(code: string): Promise<void> {
  const file = await open(folder);
  await file.close();
  const flush = vi.spyOn(Object.getPrototypeOf(file) as FileHandle, "datasync");
  flush.mockRejectedValue(Object.assign(new Error(code), { code }));
  onTestFinished(() => flush.mockRestore());
}

function row(index: number): RowItem {
  return { index, id: `row-${index + 1}`, values: {} };
}

function record(index: number, more: Partial<RowRecord> = {}): RowRecord {
  return { index, id: `row-${index + 1}`, status: "completed", attempts: 1, ...more } as RowRecord;
}

async function closedAndResumed(ledger: FileLedger): Promise<FileLedger> {
  await ledger.close();
  const resumed = await FileLedger.resume(path, HEADER, () => {});
  await resumed.close();
  return resumed;
}

function lines(): Record<string, unknown>[] {
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
