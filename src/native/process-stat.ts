import { readdirSync, readFileSync } from "node:fs";
import { descriptorReserve, isOutOfDescriptors } from "./descriptor-reserve.ts";
import { libc } from "./libc.ts";

/** A process as the kernel describes it. Pids are reused; the start time distinguishes processes. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Since boot. */
  readonly startTicks: number;
  readonly stopped: boolean;
  /** False for a zombie. */
  readonly alive: boolean;
  /** CPU time of the process and of its reaped children. */
  readonly cpuTicks: number;
  readonly residentPages: number;
}

// Fields in /proc/PID/stat after the name, which may itself contain blanks and parentheses.
const STATE = 0;
const PARENT = 1;
const GROUP = 2;
const SESSION = 3;
/** The group that the terminal sends keys to; -1 without a terminal. */
const FOREGROUND_GROUP = 5;
/** In user mode, in the kernel, and the same two for reaped children. */
const CPU_TIMES = [11, 12, 13, 14] as const;
const THREADS = 17;
const START = 19;
const RESIDENT = 21;

/** USER_HZ of Linux, the same on every processor that Node supports. */
export const TICKS_PER_SECOND = 100;
const NANOSECONDS_PER_TICK = 1e9 / TICKS_PER_SECOND;
const CLOCK_BOOTTIME = 7;
const AUXV_PAGE_SIZE = 6n;

// Each of these throws without a free descriptor, which differs from finding nothing.

/** Undefined if the process does not exist. */
export function readStat(pid: number): ProcessStat | undefined {
  const fields = readFields(pid);
  if (fields === undefined) return undefined;
  const state = fields[STATE];
  return {
    pid,
    parent: Number(fields[PARENT]),
    group: Number(fields[GROUP]),
    session: Number(fields[SESSION]),
    startTicks: Number(fields[START]),
    stopped: state === "T",
    // The main thread of a program may end before the others.
    alive: (state !== "Z" && state !== "X") || Number(fields[THREADS]) > 1,
    cpuTicks: CPU_TIMES.reduce((sum, field) => sum + Number(fields[field]), 0),
    residentPages: Number(fields[RESIDENT]),
  };
}

/** Whether this program would get the keys that are pressed in its terminal. Reading stops a background job. */
export function isInForeground(): boolean {
  const fields = readFields(process.pid);
  return fields !== undefined && fields[GROUP] === fields[FOREGROUND_GROUP];
}

function readFields(pid: number): string[] | undefined {
  const text = readProcFile(`${pid}/stat`);
  return text?.slice(text.lastIndexOf(")") + 2).split(" ");
}

export function listPids(): number[] {
  return listDirectory("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid));
}

/** Children that have not been reaped. May miss some that start or end meanwhile. */
export function listChildren(pid: number): number[] {
  return listDirectory(`/proc/${pid}/task`).flatMap((thread) =>
    (readProcFile(`${pid}/task/${thread}/children`) ?? "")
      .split(" ")
      .filter((child) => child !== "")
      .map(Number),
  );
}

/** The current time in the units of `startTicks`. The clock needs no descriptor, unlike /proc/uptime. */
export function ticksNow(): number {
  const time = new BigInt64Array(2);
  libc().clockGettime(CLOCK_BOOTTIME, time);
  return Number(time[0]) * TICKS_PER_SECOND + Math.trunc(Number(time[1]) / NANOSECONDS_PER_TICK);
}

/** Signals exactly that process, not one that has reused its pid; false if it is gone. */
export function signalProcess({ pid, startTicks }: ProcessStat, signal: number): boolean {
  const now = readStat(pid);
  if (now === undefined || now.startTicks !== startTicks || !now.alive) return false;
  return libc().kill(pid, signal) === 0;
}

/** Bytes of a page of memory: 4096, except on some processors. */
export function pageBytes(): number {
  // Pairs of a kind and a value, as the kernel gives them to every program.
  const facts = new DataView(
    new Uint8Array(ifThere(Buffer.alloc(0), () => readFileSync("/proc/self/auxv"))).buffer,
  );
  for (let at = 0; at + 16 <= facts.byteLength; at += 16)
    if (facts.getBigUint64(at, true) === AUXV_PAGE_SIZE) return Number(facts.getBigUint64(at + 8, true));
  return 4096;
}

/** Empty if it does not exist, which can change at any moment. */
export function listDirectory(path: string): string[] {
  return ifThere([], () => readdirSync(path));
}

/** Undefined if it does not exist. */
export function readProcFile(path: string): string | undefined {
  return ifThere(undefined, () => readFileSync(`/proc/${path}`, "latin1"));
}

function ifThere<T>(otherwise: T, read: () => T): T {
  try {
    return descriptorReserve.lend(read);
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error;
    return otherwise;
  }
}
