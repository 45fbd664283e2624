import { readFileSync, readlinkSync } from "node:fs";
import { libc } from "../libc.ts";

const MADV_DONTNEED = 4;

/** A mapping that cannot be written, its path and the figures about it. */
const READ_ONLY_MAPPING =
  /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ [0-9]+ +(\/.*)\n((?:[A-Z].*\n)+)/gm;

/**
 * Gives back the pages of Node's own program that this process has looked at. Most of them only its start needs; the others come back when they are
 * used, from the file or from where other processes have them. A page that is not as it is in the file, as a debugger makes them, would be lost, so a mapping
 * with such a page is left alone.
 */
export function releaseProgramPages(): void {
  const program = readlinkSync("/proc/self/exe");
  for (const [, start, end, path, figures = ""] of readFileSync("/proc/self/smaps", "latin1").matchAll(
    READ_ONLY_MAPPING,
  )) {
    if (path !== program || !isAsInFile(figures)) continue;
    const address = BigInt(`0x${start}`);
    libc().madvise(address, BigInt(`0x${end}`) - address, MADV_DONTNEED);
  }
}

function isAsInFile(figures: string): boolean {
  return ["Anonymous", "Swap", "Locked"].every((name) => new RegExp(`^${name}: +0 kB$`, "m").test(figures));
}
