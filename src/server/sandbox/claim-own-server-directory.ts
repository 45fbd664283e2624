import { lstatSync, mkdirSync } from "node:fs";
import { ownServerDirectory } from "../../base/own-server-directory.ts";

/**
 * Where commands look for this user's own server, if that can be in /tmp. Whatever listens there is given the command
 * with its input and environment, so no sandbox of any server may reach the place. It is made, because what does not
 * exist cannot be hidden. Another user's is not for us to hide: commands refuse it, and no sandbox can replace it.
 */
export function claimOwnServerDirectory(user = process.geteuid?.()): string | undefined {
  if (user === undefined) return undefined;
  const directory = ownServerDirectory(user);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch {} // It exists, or /tmp is nothing that anybody can use.
  return ownerOf(directory) === user ? directory : undefined;
}

function ownerOf(path: string): number | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.uid;
  } catch {
    return undefined;
  }
}
