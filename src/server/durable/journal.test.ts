import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import type { ObservedProcess } from "../settings/observer.ts";
import { Journal, readJournal } from "./journal.ts";

let directory: string;
let path: string;
const opened: Journal[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "journal-"));
  path = join(directory, "journal.jsonl");
});

afterEach(() => {
  for (const journal of opened.splice(0)) journal.close();
  rmSync(directory, { recursive: true });
});

function open(): Journal {
  const journal = new Journal(path, silentLogger);
  opened.push(journal);
  return journal;
}

function process(processId: string, argv = ["make"]): ObservedProcess {
  const connection = {
    number: 3,
    from: "unix",
    principal: "name:ann",
    tokenName: "ann",
    session: undefined,
    receivedBytes: undefined,
    sentBytes: undefined,
  };
  return { connection, processId, pid: 17, argv, isConfined: false, startedAtMs: 0 };
}

const ids = (entries: readonly { process: string }[]): string[] => entries.map((entry) => entry.process);

it("finds what ran when nothing was written any more, and forgets what has ended", () => {
  const journal = open();
  const ended = process("ended");
  journal.processStarted(ended);
  journal.processStarted(process("a", ["curl", "--password=secret", "x"]));
  journal.processEnded(ended);
  const next = open();
  expect(next.newlyLost).toEqual([
    {
      process: "a",
      pid: 17,
      principal: "name:ann",
      connection: 3,
      argv: ["curl", "--password=***", "x"],
      startedAt: expect.any(String),
      lostAt: expect.any(String),
    },
  ]);
  next.processStarted(process("b"));
  const third = open();
  expect(ids(third.newlyLost)).toEqual(["b"]);
  expect(ids(readJournal(path).lost)).toEqual(["a", "b"]);
});

it("is for its user alone, and reads what was not written to its end", () => {
  open().processStarted(process("a"));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  appendFileSync(path, '{"event":"start","n":2,"entry":{"proc');
  expect(ids(readJournal(path).running)).toEqual(["a"]);
  expect(ids(open().newlyLost)).toEqual(["a"]);
});

it("leaves out lines that no keeper has written", () => {
  open().processStarted(process("a"));
  const lines = [
    null,
    1,
    [],
    {},
    { event: "start", n: 2 },
    { event: "lost", entry: { process: "b" } },
    { event: "x" },
  ];
  appendFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect(readJournal(path)).toMatchObject({ lost: [], running: [{ process: "a" }] });
});

it.each([
  ["a directory", () => mkdirSync(path)],
  ["a link", () => symlinkSync("/dev/zero", path)],
  ["a pipe without an end", () => execFileSync("mkfifo", [path])],
])("is refused if it is %s", (_, make) => {
  make();
  expect(() => open()).toThrow(`cannot read the journal ${path}: `);
});

it("stays small, however much has run", () => {
  const journal = open();
  journal.processStarted(process("stays"));
  for (let at = 0; at < 5_000; at += 1) {
    const short = process(`p${at}`);
    journal.processStarted(short);
    journal.processEnded(short);
  }
  expect(readFileSync(path, "utf8").split("\n").length).toBeLessThan(2_000);
  expect(ids(readJournal(path).running)).toEqual(["stays"]);
});

it("stays small, however long the commands are", () => {
  const journal = open();
  for (let at = 0; at < 1_000; at += 1) {
    const long = process(`p${at}`, ["sh", "-c", ...Array.from({ length: 30 }, () => "x".repeat(1_000))]);
    journal.processStarted(long);
    journal.processEnded(long);
  }
  expect(statSync(path).size).toBeLessThan(5 * 1024 * 1024);
});

it("remembers the newest of many lost processes", () => {
  const entry = { startedAt: "", process: "", pid: 1, principal: "", connection: 1, argv: [], lostAt: "" };
  const lines = Array.from({ length: 3_000 }, (_, at) => ({
    event: "lost",
    entry: { ...entry, process: `p${at}` },
  }));
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect(open().newlyLost).toEqual([]);
  const { lost } = readJournal(path);
  expect([lost.length, lost.at(-1)?.process]).toEqual([1_024, "p2999"]);
});
