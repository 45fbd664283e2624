import { expect, it } from "vitest";
import { parseMessage } from "../../protocol/envelope.ts";
import type { ListedProcess } from "../../protocol/process-extensions.ts";
import { MAX_MESSAGE_BYTES } from "../../protocol/wire-limits.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { Session } from "../sessions/session.ts";
import { type ListSources, listProcesses, partAfter } from "./list-processes.ts";
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

/** The parts in which a client gets a list. */
function partsOf(processes: readonly ListedProcess[]): ListedProcess[][] {
  const parts: ListedProcess[][] = [];
  for (let isOver = false; !isOver; ) {
    const last = parts.at(-1)?.at(-1) ?? { startedAtMs: 0, pid: 0 };
    const { processes: part, more } = partAfter(last, processes);
    parts.push(part);
    isOver = !more;
  }
  return parts;
}

function listOf(count: number, argv: string[]): ListedProcess[] {
  const entries = Array.from({ length: count }, (_, index) => [
    `p${index}`,
    entryOf(1 + (index >> 2), { pid: 1 + index }, { argv }),
  ]);
  const session = sessionOf(Object.fromEntries(entries));
  return listProcesses({ session } as ClientConnection, "session", sources);
}

it.each<[string, number, string[]]>([
  ["many processes", 65_536, ["true"]],
  ["processes with many arguments", 8, Array.from({ length: 250_000 }, () => "x")],
  ["processes with long arguments", 16, Array.from({ length: 4 }, () => "\u0001".repeat(131_000))],
])("a list of %s comes in parts that fit in a message, each process once", (_, count, argv) => {
  const list = listOf(count, argv);
  const parts = partsOf(list);
  expect(parts.flat().map(({ processId }) => processId)).toEqual(list.map(({ processId }) => processId));
  for (const processes of parts) {
    const text = JSON.stringify({ id: 1, result: { processes } });
    expect(text.length).toBeLessThan(MAX_MESSAGE_BYTES);
    expect(() => parseMessage(text)).not.toThrow();
  }
});

it("a list that fits comes in one part", () => {
  expect(partsOf(listOf(1_000, ["x"])).map(({ length }) => length)).toEqual([1_000]);
  expect(partsOf([])).toEqual([[]]);
});
