import { lstatSync, mkdirSync } from "node:fs";
import { ownServerDirectory } from "../../base/own-server-directory.ts";

/**
 * Directory in which commands look for this user's own server, if that can be in /tmp. Whatever listens there gets the
 * command with its input and environment, so no sandbox of any server may reach it. It is created, because what does
 * not exist cannot be hidden. Another user's is not ours to hide: commands refuse it, and sandboxes cannot replace it.
 */
export function claimOwnServerDirectory(user = process.geteuid?.()): string | undefined {
  if (user === undefined) return undefined;
  const directory = ownServerDirectory(user);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch {} // It exists, or /tmp is unusable.
  return ownerOf(directory) === user ? directory : undefined;
}

function ownerOf(path: string): number | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.uid;
  } catch {
    return undefined;
  }
}
