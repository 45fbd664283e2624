import { lstatSync } from "node:fs";
import { join } from "node:path";
import { ownServerDirectory } from "../../../../base/own-server-directory.ts";
import { MAX_SOCKET_PATH_BYTES } from "../../../../base/socket-url.ts";
import { Failure } from "../../outcome/failure.ts";

/** A server binds its socket in a directory beside the final place, with six random characters in its name. */
const ROOM_FOR_BINDING = "/.es-abcdef/s".length;
const OTHERS = 0o077;
const OTHERS_MAY_WRITE = 0o022;

/** Where the user's own server is: its socket, and what belongs to it. */
export interface OwnServerPaths {
  /** Belongs to the user alone, if it exists. */
  readonly directory: string;
  readonly exists: boolean;
  readonly socket: string;
  readonly log: string;
  /** Locked by the command that starts the server. */
  readonly lock: string;
}

/** Finds the paths. Throws a Failure if others could reach what is there. */
export function ownServerPaths(
  environment: NodeJS.ProcessEnv = process.env,
  user = userId(),
): OwnServerPaths {
  const directory = directoryFor(environment["XDG_RUNTIME_DIR"], user);
  return {
    directory,
    exists: isPrivate(directory, user),
    socket: join(directory, "server.sock"),
    log: join(directory, "server.log"),
    lock: join(directory, "start.lock"),
  };
}

function userId(): number {
  return process.geteuid?.() ?? 0;
}

/**
 * A runtime directory that is not this user's, as after `su`, is left alone. So is one whose path is too long for a
 * socket.
 */
function directoryFor(runtime: string | undefined, user: number): string {
  const fallback = ownServerDirectory(user);
  if (runtime === undefined || !runtime.startsWith("/")) return fallback;
  const directory = join(runtime, "exec-server");
  if (Buffer.byteLength(directory) + ROOM_FOR_BINDING > MAX_SOCKET_PATH_BYTES) return fallback;
  const found = statOrNothing(runtime);
  const isOwn = found?.isDirectory() === true && found.uid === user && (found.mode & OTHERS_MAY_WRITE) === 0;
  return isOwn ? directory : fallback;
}

/** Whoever owns the directory can answer instead of the server, and gets the environment of every command. */
function isPrivate(directory: string, user: number): boolean {
  const found = statOrNothing(directory);
  if (found === undefined) return false;
  const refuse = (why: string): Failure =>
    new Failure(`the directory of your own server, ${directory}, ${why}`);
  if (found.isSymbolicLink()) throw refuse("is a symbolic link; remove it");
  if (!found.isDirectory()) throw refuse("is not a directory; remove it");
  if (found.uid !== user)
    throw refuse(
      `belongs to somebody else (user ${found.uid}); set XDG_RUNTIME_DIR to a directory of your own`,
    );
  if ((found.mode & OTHERS) !== 0) throw refuse(`is open to other users; run 'chmod 700 ${directory}'`);
  return true;
}

function statOrNothing(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // It cannot be reached, so it is no place for a server.
  }
}
