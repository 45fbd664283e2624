import { readdirSync, readFileSync } from "node:fs";
import { descriptorReserve, isOutOfDescriptors } from "./descriptor-reserve.ts";
import { libc } from "./libc.ts";

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
const NANOSECONDS_PER_TICK = 1e9 / TICKS_PER_SECOND;
const CLOCK_BOOTTIME = 7;

// Each of these throws when there is no descriptor left to look with, which is another thing than finding nothing.

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
  return listDirectory("/proc")
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

/** The moment, as `startTicks` count it. The clock needs no descriptor, as /proc/uptime would. */
export function ticksNow(): number {
  const time = new BigInt64Array(2);
  libc().clockGettime(CLOCK_BOOTTIME, time);
  return Number(time[0]) * TICKS_PER_SECOND + Math.trunc(Number(time[1]) / NANOSECONDS_PER_TICK);
}

/** Signals that very process, not one that has got its number since; false when it is gone. */
export function signalProcess({ pid, startTicks }: ProcessStat, signal: number): boolean {
  const now = readStat(pid);
  if (now === undefined || now.startTicks !== startTicks || !now.alive) return false;
  return libc().kill(pid, signal) === 0;
}

/** Empty where there is none any more, which can be so from one moment to the next. */
export function listDirectory(path: string): string[] {
  return ifThere([], () => readdirSync(path));
}

/** Undefined where there is none any more. */
export function readProcFile(path: string): string | undefined {
  return ifThere(undefined, () => readFileSync(`/proc/${path}`, "latin1"));
}

function ifThere<T>(otherwise: T, look: () => T): T {
  try {
    return descriptorReserve.lend(look);
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error;
    return otherwise;
  }
}
