import { lstatSync, mkdirSync } from "node:fs";

const WRITABLE_BY_OTHERS = 0o022;

/**
 * Creates the directory if it is missing. Returns undefined if it cannot be used: its contents are executed, so it must
 * belong to this user, and be writable only by this user. It is beside the program, where anyone who can write could
 * also change the program.
 */
export function openCacheDirectory(path: string): string | undefined {
  try {
    makeDirectory(path);
    const { uid, mode } = lstatSync(path);
    return uid === process.geteuid?.() && (mode & WRITABLE_BY_OTHERS) === 0 ? path : undefined;
  } catch {
    // An installation that this user cannot write to has no cache.
    return undefined;
  }
}

function makeDirectory(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another server may have created it meanwhile.
    if (!lstatSync(path).isDirectory()) throw error;
  }
}
