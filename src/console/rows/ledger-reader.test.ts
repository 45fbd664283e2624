import { expect, onTestFinished, test, vi } from "vitest";
import { FileError, type Host } from "../../client/browser.ts";
import { type EndedRow, followLedger, type JobProgress, LedgerReader } from "./ledger-reader.ts";

const HEADER = {
  kind: "job",
  version: 1,
  jobId: "j1",
  input: { path: "/data/urls.csv", sha256: "x", rows: 4 },
  work: { command: ["curl", "{url}"] },
  at: "2026-01-01T00:00:00.000Z",
};

function read(entries: readonly object[], pieces = 1): LedgerReader {
  const reader = new LedgerReader();
  const bytes = new TextEncoder().encode(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  const size = Math.ceil(bytes.length / pieces);
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
  return reader;
}

const ENTRIES = [
  HEADER,
  { kind: "run", at: "2026-01-01T00:00:01.000Z", pid: 1 },
  { kind: "begin", index: 0, attempt: 1 },
  { kind: "begin", index: 1, attempt: 1 },
  { kind: "begin", index: 2, attempt: 1 },
  {
    kind: "end",
    index: 0,
    id: "a",
    status: "completed",
    attempts: 1,
    result: "fine",
    durationMs: 12,
    exitCode: 0,
  },
  { kind: "retry", index: 1, attempt: 1, error: "exit 1" },
  { kind: "begin", index: 1, attempt: 2 },
  { kind: "end", index: 1, id: "über", status: "failed", attempts: 2, error: "exit 1" },
];

const ROW: EndedRow = {
  index: 0,
  id: "",
  status: "completed",
  attempts: 1,
  durationMs: undefined,
  exitCode: undefined,
  host: "",
  error: "",
  result: "",
  isCut: false,
};

test.each([1, 7, 200])("rows are counted by how they ended, read in %i pieces", (pieces) => {
  expect(read(ENTRIES, pieces).progress).toEqual({
    job: { jobId: "j1", input: "/data/urls.csv", rows: 4, work: HEADER.work },
    running: 1,
    completed: 1,
    failed: 1,
    cancelled: 0,
    lost: 0,
    retries: 1,
    stopped: undefined,
    rows: [
      { ...ROW, index: 1, id: "über", status: "failed", attempts: 2, error: "exit 1" },
      { ...ROW, index: 0, id: "a", result: "fine", durationMs: 12, exitCode: 0 },
    ],
  });
});

test("a run that is resumed forgets what ran, and a row that ends well is no longer bad", () => {
  const resumed = read([
    ...ENTRIES,
    { kind: "stop", reason: "too many failures" },
    { kind: "run", at: "2026-01-02T00:00:00.000Z", pid: 2 },
    { kind: "begin", index: 1, attempt: 3 },
    { kind: "end", index: 1, status: "completed", attempts: 3 },
  ]).progress!;
  expect([resumed.running, resumed.completed, resumed.failed, resumed.stopped]).toEqual([0, 2, 0, undefined]);
  expect(resumed.rows.map(({ index, status }) => [index, status])).toEqual([
    [0, "completed"],
    [1, "completed"],
  ]);
});

test("the latest rows are kept, and those that failed longer", () => {
  const ends = Array.from({ length: 12_000 }, (_, index) => ({
    kind: "end",
    index,
    status: index % 4 === 0 ? "failed" : "completed",
    attempts: 1,
  }));
  const { failed, rows } = read([HEADER, ...ends]).progress!;
  const kept = (status: string) => rows.filter((row) => row.status === status).map(({ index }) => index);
  const [bad, good] = [kept("failed"), kept("completed")];
  expect(failed).toBe(3000);
  expect([bad.length, bad[0], bad.at(-1)]).toEqual([1000, 8000, 11_996]);
  expect([good.length, good.at(-1)]).toEqual([5000, 11_999]);
});

test.each([
  ["text", "text"],
  [{ a: [1, null] }, '{"a":[1,null]}'],
  [null, "null"],
  [undefined, ""],
])("a result %j is shown as %j", (result, shown) => {
  const { rows } = read([HEADER, { kind: "end", index: 0, status: "completed", attempts: 1, result }])
    .progress!;
  expect(rows).toEqual([{ ...ROW, result: shown }]);
});

test("a long result, or error, is cut", () => {
  const { rows } = read([
    HEADER,
    { kind: "end", index: 0, status: "completed", attempts: 1, result: "x".repeat(2001) },
    { kind: "end", index: 1, status: "failed", attempts: 1, error: "y".repeat(2000) },
  ]).progress!;
  expect(rows.map(({ result, error, isCut }) => [result.length, error.length, isCut])).toEqual([
    [0, 2000, false],
    [2000, 0, true],
  ]);
});

test.each(["hello\n", "{}\n", '{"kind":"job"}\n', "[]\n", "null\n"])("%j is not a ledger", (text) => {
  expect(() => new LedgerReader().push(new TextEncoder().encode(text))).toThrow("not the ledger");
});

test("a file without line ends is given up", () => {
  const reader = new LedgerReader();
  const block = new Uint8Array(1024 * 1024).fill(120);
  expect(() => {
    for (let times = 0; times < 8; times++) reader.push(block);
  }).toThrow("not the ledger");
});

/** One file, which may be replaced; undefined while it does not exist. */
class OneFile {
  bytes: Uint8Array | undefined;
  #written = 0;

  write(entries: readonly object[]): void {
    this.#written += 1;
    this.bytes = new TextEncoder().encode(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  }

  readonly files = {
    stat: async () => {
      if (this.bytes === undefined) throw new FileError("NOT_FOUND", "stat /l: no such file", { path: "/l" });
      return { kind: "file", size: this.bytes.length, modified: new Date(this.#written) };
    },
    readStream: async function* (this: OneFile, _path: string, { offset = 0, length = Infinity } = {}) {
      yield this.bytes!.subarray(offset, offset + length);
    }.bind(this),
  } as unknown as Host["files"];
}

const endOf = (index: number) => ({ kind: "end", index, id: `${index}`, status: "completed", attempts: 1 });

test.each([
  ["a shorter one", [{ ...HEADER, jobId: "j2" }, endOf(0)]],
  ["one of the same length", [{ ...HEADER, jobId: "j2" }, endOf(3), endOf(2)]],
  ["a longer one", [{ ...HEADER, jobId: "j2" }, endOf(3), endOf(2), endOf(1)]],
])("a job that starts over is followed, when its ledger is replaced by %s", async (_what, entries) => {
  vi.useFakeTimers();
  const stop = new AbortController();
  onTestFinished(() => {
    stop.abort();
    vi.useRealTimers();
  });
  const file = new OneFile();
  let latest: JobProgress | undefined;
  let isExpected = true;
  const failed = vi.fn<(error: unknown) => void>();
  void followLedger(file, "/l", {
    signal: stop.signal,
    onProgress: (progress) => {
      latest = progress;
    },
    onEmpty: () => {},
    isExpected: () => isExpected,
  }).catch(failed);
  const seconds = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(count * 1000);
  await seconds(2);
  file.write([HEADER, endOf(0)]);
  await seconds(2);
  file.write([HEADER, endOf(0), endOf(1)]);
  await seconds(2);
  expect(latest).toMatchObject({ job: { jobId: "j1" }, completed: 2 });
  file.bytes = undefined;
  await seconds(2);
  file.write(entries);
  await seconds(2);
  expect(latest).toMatchObject({ job: { jobId: "j2" }, completed: entries.length - 1 });
  file.write([HEADER, endOf(0)]);
  await seconds(2);
  file.write(entries);
  await seconds(2);
  expect(latest).toMatchObject({ job: { jobId: "j2" }, completed: entries.length - 1 });
  expect(failed).not.toHaveBeenCalled();
  file.bytes = undefined;
  isExpected = false;
  await seconds(2);
  expect(failed).toHaveBeenCalledOnce();
});
