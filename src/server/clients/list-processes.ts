import { uriFromPath } from "../../base/file-uri.ts";
import type { MachineUsage } from "../../capabilities/process/usage/machine-usage.ts";
import type { TerminalSize } from "../../native/spawn.ts";
import { type ListedProcess, MAX_LISTED_ARGUMENTS } from "../../protocol/process-extensions.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { KeptProcesses } from "../sessions/kept-processes.ts";
import type { Session } from "../sessions/session.ts";
import type { ProcessEntry } from "../sessions/process-table.ts";

export interface ListSources {
  readonly sessions: Iterable<Session>;
  readonly kept: Pick<KeptProcesses, "visibleTo">;
  /** Resource usage, if the client requested it. */
  readonly machine?: MachineUsage | undefined;
}

/** The processes of a scope in start order. */
export function listProcesses(
  client: ClientConnection,
  scope: "session" | "kept" | "server",
  { sessions, kept, machine }: ListSources,
): ListedProcess[] {
  const { session } = client;
  const listed = (of: Session): ListedProcess[] =>
    Array.from(of.processes, ([id, entry]) => describe(id, entry, { own: of === session, machine }));
  const listedKept = (): ListedProcess[] =>
    Array.from(kept.visibleTo(client), ({ name, entry, owner }) => ({
      ...describe(name, entry, { own: false, machine }),
      name,
      owner,
      attached: entry.audience?.connections ?? 0,
    }));
  switch (scope) {
    case "session":
      return listed(session);
    case "kept":
      return listedKept().toSorted(byStart);
    case "server":
      return [...Array.from(sessions, listed).flat(), ...listedKept()].toSorted(byStart);
  }
}

/** Limits of an answer with more than one process: half the values of a message, and as many characters as escapes. */
const MAX_PART_VALUES = 131_072;
const MAX_PART_CHARACTERS = 512 * 1024;
/** Maximum number of values of a process besides its arguments. */
const VALUES_OF_PROCESS = 40;

/** Position at which a list continues: after this process. */
type Position = Pick<ListedProcess, "startedAtMs" | "pid">;

/** As many processes that were started after the position as fit in one answer. */
export function partAfter(
  position: Position,
  processes: readonly ListedProcess[],
): { processes: ListedProcess[]; more: boolean } {
  const left = processes.filter((process) => byStart(process, position) > 0).toSorted(byStart);
  let values = 0;
  let characters = 0;
  const end = left.findIndex(({ argv, processId, cwd, label }, index) => {
    values += VALUES_OF_PROCESS + argv.length;
    characters += processId.length + cwd.length + (label ?? "").length;
    for (const argument of argv) characters += argument.length;
    return index > 0 && (values > MAX_PART_VALUES || characters > MAX_PART_CHARACTERS);
  });
  return end < 0 ? { processes: left, more: false } : { processes: left.slice(0, end), more: true };
}

/** Processes of the same millisecond have different numbers. */
function byStart(one: Position, other: Position): number {
  return one.startedAtMs - other.startedAtMs || one.pid - other.pid;
}

function describe(
  processId: string,
  { process, ...entry }: ProcessEntry,
  { own, machine }: { readonly own: boolean; readonly machine: MachineUsage | undefined },
): ListedProcess {
  const { exitCode, report, closed } = process.state;
  const { total, retained } = process.outputBytes;
  const usage = machine && process.usage(machine);
  return {
    processId,
    own,
    pid: process.pid,
    argv: entry.argv.slice(0, MAX_LISTED_ARGUMENTS),
    cwd: uriFromPath(entry.cwd),
    label: entry.label ?? null,
    tty: process.terminal !== undefined,
    hasInput: process.input !== undefined,
    startedAtMs: entry.startedAtMs,
    state: closed ? "closed" : exitCode === undefined ? "running" : "exited",
    exitCode: exitCode ?? null,
    ...(report?.signal === undefined ? {} : { signal: report.signal }),
    outputBytes: total,
    retainedBytes: retained,
    ...(entry.endedAtMs === undefined ? {} : { endedAtMs: entry.endedAtMs }),
    ...(process.terminal === undefined ? {} : { terminalSize: wireSize(process.terminal.size) }),
    ...(usage === undefined ? {} : { usage }),
  };
}

/** A size in the words of the wire. */
export function wireSize({ rows, columns }: TerminalSize) {
  return { rows, cols: columns };
}
