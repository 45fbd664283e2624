import { closeSync, openSync, readlinkSync, readSync } from "node:fs";
import { libc } from "../libc.ts";

const MADV_DONTNEED = 4;

/** The kernel takes 10 ms for the whole file, and 1 ms for its beginning, where the program is. */
const READ_BYTES = 4096;
const MAX_READS = 64;

/** A mapping of a file that cannot be written, and the figures about it. */
const READ_ONLY_MAPPING =
  /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p [0-9a-f]+ [0-9a-f]+:[0-9a-f]+ [0-9]+ +(\/.*)\n((?:[A-Z].*\n)+?VmFlags:.*\n)/gm;

const NOTHING_OF_ITS_OWN = [/^Anonymous: +0 kB$/m, /^Swap: +0 kB$/m, /^Locked: +0 kB$/m];

/**
 * Gives back the pages of Node's own program that this process has looked at. Most of them only its start needs; the others come back when they are
 * used, from the file or from where other processes have them. A page that is not as it is in the file, as a debugger makes them, would be lost, so a mapping
 * with such a page is left alone.
 */
export function releaseProgramPages(): void {
  const program = readlinkSync("/proc/self/exe");
  for (const [, start, end, path, figures = ""] of readMappings(program).matchAll(READ_ONLY_MAPPING)) {
    if (path !== program || !isAsInFile(figures)) continue;
    const address = BigInt(`0x${start}`);
    libc().madvise(address, BigInt(`0x${end}`) - address, MADV_DONTNEED);
  }
}

function isAsInFile(figures: string): boolean {
  return NOTHING_OF_ITS_OWN.every((figure) => figure.test(figures));
}

/** Descriptions of the mappings up to those of the program, which lie side by side. */
function readMappings(program: string): string {
  const fd = openSync("/proc/self/smaps", "r");
  try {
    const piece = Buffer.alloc(READ_BYTES);
    let text = "";
    for (let reads = 0; reads < MAX_READS; reads += 1) {
      const read = readSync(fd, piece);
      text += piece.toString("latin1", 0, read);
      const last = text.lastIndexOf(`${program}\n`);
      if (read === 0 || (last !== -1 && /\n[0-9a-f]{1,16}-[0-9a-f]{1,16} /.test(text.slice(last)))) break;
    }
    return text;
  } finally {
    closeSync(fd);
  }
}
