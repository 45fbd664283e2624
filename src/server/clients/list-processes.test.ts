import { expect, it } from "vitest";
import type { ClientConnection } from "./client-connection.ts";
import type { Session } from "../sessions/session.ts";
import { type ListSources, listProcesses } from "./list-processes.ts";
import type { ProcessEntry } from "../sessions/process-table.ts";

const LISTED = {
  own: false,
  pid: 5,
  argv: ["x"],
  cwd: "file:///tmp",
  label: null,
  tty: false,
  hasInput: false,
  state: "running",
  exitCode: null,
  outputBytes: 10,
  retainedBytes: 7,
};

function entryOf(startedAtMs: number, process: object = {}, more: Partial<ProcessEntry> = {}): ProcessEntry {
  return {
    process: {
      pid: 5,
      state: { exitCode: undefined, report: undefined, closed: false },
      outputBytes: { total: 10, retained: 7 },
      usage: () => "used",
      ...process,
    },
    argv: ["x"],
    cwd: "/tmp",
    startedAtMs,
    label: undefined,
    enforced: undefined,
    ...more,
  } as unknown as ProcessEntry;
}

function sessionOf(entries: Record<string, ProcessEntry>): Session {
  return { processes: Object.entries(entries) } as unknown as Session;
}

const mine = sessionOf({ late: entryOf(30), early: entryOf(10) });
const theirs = sessionOf({ theirs: entryOf(20) });
const kept = [
  { name: "k2", owner: "user:bob", entry: entryOf(25, {}, { audience: { connections: 2 } as never }) },
  { name: "k1", owner: "user:ann", entry: entryOf(15) },
];
const client = { session: mine } as ClientConnection;
const sources: ListSources = {
  sessions: [theirs, mine],
  kept: { visibleTo: () => kept } as unknown as ListSources["kept"],
};
const idsOf = (scope: "session" | "kept" | "server"): string[] =>
  listProcesses(client, scope, sources).map(({ processId }) => processId);

it("a session has its own processes, and others are listed by their starts", () => {
  expect(idsOf("session")).toEqual(["late", "early"]);
  expect(idsOf("kept")).toEqual(["k1", "k2"]);
  expect(idsOf("server")).toEqual(["early", "k1", "theirs", "k2", "late"]);
});

it("only the processes of the session are the client's own, and kept ones have a name and an owner", () => {
  const all = listProcesses(client, "server", sources);
  expect(all.filter(({ own }) => own).map(({ processId }) => processId)).toEqual(["early", "late"]);
  expect(listProcesses(client, "kept", sources)).toEqual([
    { ...LISTED, processId: "k1", startedAtMs: 15, name: "k1", owner: "user:ann", attached: 0 },
    { ...LISTED, processId: "k2", startedAtMs: 25, name: "k2", owner: "user:bob", attached: 2 },
  ]);
});

it("a process says what it is, how it has ended, and what it uses if that is wanted", () => {
  const [input, terminal] = [{}, { size: { rows: 24, columns: 80 } }];
  const exited = { exitCode: 137, report: { signal: "SIGKILL" }, closed: false };
  const session = sessionOf({
    terminal: entryOf(1, { input, terminal }, { label: "a label" }),
    exited: entryOf(2, { state: exited }, { endedAtMs: 9 }),
    closed: entryOf(3, { state: { exitCode: 0, report: {}, closed: true } }),
  });
  const list = (machine?: object) =>
    listProcesses({ session } as ClientConnection, "session", { ...sources, machine: machine as never });
  const common = { ...LISTED, own: true };
  expect(list()).toEqual([
    {
      ...common,
      processId: "terminal",
      startedAtMs: 1,
      label: "a label",
      tty: true,
      hasInput: true,
      terminalSize: { rows: 24, cols: 80 },
    },
    {
      ...common,
      processId: "exited",
      startedAtMs: 2,
      state: "exited",
      exitCode: 137,
      signal: "SIGKILL",
      endedAtMs: 9,
    },
    { ...common, processId: "closed", startedAtMs: 3, state: "closed", exitCode: 0 },
  ]);
  expect(list({}).map(({ usage }) => usage)).toEqual(["used", "used", "used"]);
});
