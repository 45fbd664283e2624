import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Empty where the process is gone, which can happen between any two looks. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** A dead process that nobody has waited for yet has no command line left, only a state. */
export function isAlive(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  const state = stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3);
  return state !== "" && state !== "Z" && state !== "X";
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

export const parentOf = (pid: number): number =>
  Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1]);

export const sessionOf = (pid: number): number => {
  const stat = read(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]);
};

/** Resident bytes. */
export const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;

/** Bytes the process has handed to write() so far. */
export const writtenBytes = (pid: number): number =>
  Number(/^wchar: (\d+)/m.exec(read(`/proc/${pid}/io`))?.[1] ?? 0);

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
