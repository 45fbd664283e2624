import { readdirSync, readlinkSync } from "node:fs";
import { listChildren } from "../../../../native/process-stat.ts";

const TERMINAL = /^\/dev\/(?:tty|pts\/|console$)/;
/** Enough for ssh with the commands that it starts. */
const MAX_PROGRAMS = 64;

/**
 * True if a program that this one has started has opened a terminal, as ssh does while it asks for a password: it gets
 * none from here.
 */
export function asksOnTerminal(): boolean {
  // A system without /proc does not say.
  if (process.platform !== "linux") return process.stderr.isTTY;
  const programs = listChildren(process.pid);
  // Those that they have started follow.
  for (const pid of programs) if (programs.length < MAX_PROGRAMS) programs.push(...listChildren(pid));
  return programs.some(hasTerminal);
}

function hasTerminal(pid: number): boolean {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory).some((fd) => TERMINAL.test(readlinkSync(`${directory}/${fd}`)));
  } catch (error) {
    // Of another user, as sudo is. Otherwise it has ended.
    return (error as NodeJS.ErrnoException).code === "EACCES" && process.stderr.isTTY;
  }
}
