import type { Chunk } from "./output/output-log.ts";

/** Messages of programs, and of the sandbox itself, when something is not permitted. */
const SIGNS = [
  "operation not permitted",
  "permission denied",
  "read-only file system",
  "seccomp",
  "sandbox",
  "landlock",
  "failed to write file",
];
/** 128 + SIGSYS: the filter of system calls ended the process. */
const ENDED_BY_FILTER = 159;

/**
 * Guesses whether a sandbox made a process fail, as a Codex server does: a client has no other hint that it may ask its
 * user for more. Searches the retained output of all streams, in the order in which it arrived.
 */
export function looksDenied(exitCode: number, output: () => readonly Chunk[]): boolean {
  if (exitCode === 0) return false;
  if (exitCode === ENDED_BY_FILTER) return true;
  const text = Buffer.concat(output().map(({ bytes }) => bytes))
    .toString()
    .toLowerCase();
  return SIGNS.some((sign) => text.includes(sign));
}
