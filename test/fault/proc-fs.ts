import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";

/** Empty where the process is gone, which can happen between any two looks. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** A zombie has no command line left, only a state. */
export function isAlive(pid: number): boolean {
  const state = statFields(pid)[0];
  return state !== undefined && state !== "" && state !== "Z" && state !== "X";
}

/** Living processes that carry `marker` in their arguments or environment, which descendants inherit. */
export function processesMarked(marker: string): number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .filter(
      (pid) =>
        (read(`/proc/${pid}/cmdline`).includes(marker) || read(`/proc/${pid}/environ`).includes(marker)) &&
        isAlive(pid),
    );
}

export const commandLine = (pid: number): string => read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim();

/**
 * Fields of /proc/PID/stat after the name, which may itself contain blanks: state is 0, ppid 1, session 3, start 19.
 */
const statFields = (pid: number): string[] => {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
};

export interface ProcessIdentity {
  readonly pid: number;
  /** Pids are reused; the start time distinguishes processes. */
  readonly startTime: string;
}

/** Every living process below `pid`. */
export function descendantsOf(pid: number): ProcessIdentity[] {
  const all = readdirSync("/proc")
    .map(Number)
    .filter((candidate) => Number.isInteger(candidate))
    .map((candidate) => ({ pid: candidate, fields: statFields(candidate) }));
  const below = (parent: number): ProcessIdentity[] =>
    all
      .filter(({ fields }) => Number(fields[1]) === parent)
      .flatMap((child) => [{ pid: child.pid, startTime: child.fields[19] ?? "" }, ...below(child.pid)]);
  return below(pid);
}

export const isStillAlive = ({ pid, startTime }: ProcessIdentity): boolean =>
  isAlive(pid) && statFields(pid)[19] === startTime;

/** `T` for one that is stopped. */
export const stateOf = (pid: number): string => statFields(pid)[0] ?? "";

export const sessionOf = (pid: number): number => Number(statFields(pid)[3]);

/** Resident bytes. */
export const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;

/** The most resident bytes since the last `forgetPeak`. */
export const peakResidentBytes = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;

export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, "5");

/** Bytes the process has handed to write() so far. */
export const writtenBytes = (pid: number): number =>
  Number(/^wchar: (\d+)/m.exec(read(`/proc/${pid}/io`))?.[1] ?? 0);

/** Bytes the process has got from read() and handed to write() so far. */
export const transferredBytes = (pid: number): number =>
  writtenBytes(pid) + Number(/^rchar: (\d+)/m.exec(read(`/proc/${pid}/io`))?.[1] ?? 0);

/** What each open descriptor of the process refers to. */
export function openDescriptors(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}

/** TCP connections of the process, in whatever state, without the sockets that listen. */
export function countConnections(pid: number): number {
  const sockets = new Set(openDescriptors(pid));
  return [`/proc/${pid}/net/tcp`, `/proc/${pid}/net/tcp6`]
    .flatMap((table) => read(table).trim().split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] !== TCP_LISTEN && sockets.has(`socket:[${fields[9]}]`)).length;
}

const TCP_LISTEN = "0A";
