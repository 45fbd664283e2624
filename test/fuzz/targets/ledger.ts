import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../../src/base/errors.ts";
import { FileLedger } from "../../../src/rows/ledger/file-ledger.ts";
import type { JobHeader } from "../../../src/rows/ledger/ledger-entries.ts";
import { expectEqual, expectTrue, scratchDirectory, type Target } from "../target.ts";

const ROWS = 5;
const HEADER: JobHeader = {
  kind: "job",
  version: 1,
  jobId: "j",
  input: { path: "f", sha256: "0", rows: ROWS },
  work: {},
  at: "2026",
};
const path = join(scratchDirectory(), "ledger");

const lines = (...entries: object[]): string =>
  [HEADER, ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join("");

interface Entry {
  readonly kind: string;
  readonly index?: number;
  readonly attempt?: number;
  readonly attempts?: number;
  readonly status?: string;
}

/** Rows of a ledger whose whole lines are all valid; what is after the last line break does not count. */
function expectedRows(text: string): { status: string; attempts: number }[] {
  const rows = Array.from({ length: ROWS }, () => ({ status: "pending", attempts: 0 }));
  for (const line of text.split("\n").slice(1, -1)) {
    const { kind, index = 0, attempt = 0, attempts = 0, status = "" } = JSON.parse(line) as Entry;
    if (kind === "begin") rows[index] = { status: "running", attempts: attempt };
    if (kind === "retry") rows[index] = { status: "pending", attempts: attempt };
    if (kind === "end") rows[index] = { status, attempts };
  }
  return rows.map(({ status, attempts }) => ({ status, attempts: Math.min(attempts, 65_535) }));
}

/** A ledger is refused, or says what its whole lines say; then it can be read again. */
export const target: Target = {
  seeds: [
    lines(
      { kind: "run", at: "2026", pid: 1 },
      { kind: "begin", index: 0, attempt: 1, host: "a" },
      { kind: "begin", index: 1, attempt: 1 },
      { kind: "retry", index: 1, attempt: 1, error: "e", lost: true },
      { kind: "end", index: 0, attempts: 1, status: "completed", result: { a: 1 } },
    ),
    `${lines({ kind: "begin", index: 4, attempt: 70_000 }, { kind: "stop", reason: "r" })}{"kind":"beg`,
    '{"kind":"jo',
    "",
  ],
  words: [
    "\n",
    '{"kind":"begin","index":1,"attempt":2}\n',
    '"index":',
    '"status":"failed"',
    "null",
    "[]",
    "1e300",
    "-1",
    "4294967296",
    "9007199254740991",
    "\u00e4",
    Buffer.from([0xff]),
  ],
  maxBytes: 1200,
  async run(input) {
    writeFileSync(path, input, { mode: 0o600 });
    let ledger: FileLedger;
    let begun: JobHeader | undefined;
    const expectJob = (header: JobHeader): void => {
      begun = header;
      if (header.jobId !== HEADER.jobId || header.input.rows !== ROWS) throw new UsageError("another job");
    };
    try {
      ledger = await FileLedger.resume(path, HEADER, expectJob);
    } catch (error) {
      if (error instanceof UsageError) return;
      throw error;
    }
    const rows = [];
    for (let index = 0; index < ROWS; index += 1) {
      rows.push({ status: ledger.statusOf(index) as string, attempts: ledger.attemptsOf(index) });
      await ledger.recordOf(index);
    }
    await ledger.close();
    const text = input.toString("utf8");
    if (begun !== undefined) expectEqual(rows, expectedRows(text), "the rows");
    const written = readFileSync(path);
    expectTrue(written.at(-1) === 10, "it ends with a whole line");
    const whole = begun === undefined ? 0 : input.lastIndexOf("\n") + 1;
    expectEqual(written.subarray(0, whole), input.subarray(0, whole), "whole lines stay");
    const again = await FileLedger.resume(path, HEADER, expectJob);
    expectEqual(
      rows,
      rows.map((_, index) => ({ status: again.statusOf(index), attempts: again.attemptsOf(index) })),
      "the rows, read again",
    );
    await again.close();
  },
};
