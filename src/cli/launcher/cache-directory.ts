import { lstatSync, mkdirSync } from "node:fs";

const WRITABLE_BY_OTHERS = 0o022;

/**
 * Makes the directory if it is missing. Returns undefined if it cannot be used: what is in it is run, so it must belong to this user, and nobody else may
 * be able to write to it. It lies beside the program, where whoever can write could also change the program.
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
    // Another server may have made it meanwhile.
    if (!lstatSync(path).isDirectory()) throw error;
  }
}
