import { readdirSync, readFileSync } from "node:fs";
import { libc } from "../libc.ts";

/** A process as the kernel describes it. A pid is given out again; the moment of the start tells the two apart. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Since the machine was started. */
  readonly startTicks: number;
  readonly stopped: boolean;
  /** False for one that has ended and is only waited for. */
  readonly alive: boolean;
}

// Places in /proc/PID/stat after the name, which may itself contain blanks and parentheses.
const STATE = 0;
const PARENT = 1;
const GROUP = 2;
const SESSION = 3;
const THREADS = 17;
const START = 19;

/** What Linux calls USER_HZ, the same on every processor Node runs on. */
const TICKS_PER_SECOND = 100;

/** Undefined when there is no such process. */
export function readStat(pid: number): ProcessStat | undefined {
  const text = readProcFile(`${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const state = fields[STATE];
  return {
    pid,
    parent: Number(fields[PARENT]),
    group: Number(fields[GROUP]),
    session: Number(fields[SESSION]),
    startTicks: Number(fields[START]),
    stopped: state === "T",
    // The first thread of a program may end before the others.
    alive: (state !== "Z" && state !== "X") || Number(fields[THREADS]) > 1,
  };
}

export function listPids(): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid));
}

/** Children that have not been waited for. May miss some that are born or end meanwhile. */
export function listChildren(pid: number): number[] {
  return listDirectory(`/proc/${pid}/task`).flatMap((thread) =>
    (readProcFile(`${pid}/task/${thread}/children`) ?? "")
      .split(" ")
      .filter((child) => child !== "")
      .map(Number),
  );
}

/** The moment, as `startTicks` count it. */
export function ticksNow(): number {
  return Math.round(Number.parseFloat(readFileSync("/proc/uptime", "latin1")) * TICKS_PER_SECOND);
}

/** Signals that very process, not one that has got its number since; false when it is gone. */
export function signalProcess({ pid, startTicks }: ProcessStat, signal: number): boolean {
  const now = readStat(pid);
  if (now === undefined || now.startTicks !== startTicks || !now.alive) return false;
  return libc().kill(pid, signal) === 0;
}

/** Empty where there is none any more, which can be so from one moment to the next. */
export function listDirectory(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Undefined where there is none any more. */
export function readProcFile(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, "latin1");
  } catch {
    return undefined;
  }
}
