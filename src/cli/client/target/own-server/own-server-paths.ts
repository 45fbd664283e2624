import { lstatSync } from "node:fs";
import { join } from "node:path";
import { ownServerDirectory } from "../../../../base/own-server-directory.ts";
import { MAX_SOCKET_PATH_BYTES } from "../../../../base/socket-url.ts";
import { Failure } from "../../../shared/failure.ts";

/** A server binds its socket in a directory beside the final place, with six random characters in its name. */
const ROOM_FOR_BINDING = "/.es-abcdef/s".length;
const OTHERS = 0o077;
const OTHERS_MAY_WRITE = 0o022;

/** Paths of the user's own server: its socket, and related files. */
export interface OwnServerPaths {
  /** Belongs only to the user, if it exists. */
  readonly directory: string;
  readonly exists: boolean;
  readonly socket: string;
  readonly log: string;
  /** Locked by the command that starts the server. */
  readonly lock: string;
}

/** Returns the paths. Throws a Failure if others could access them. */
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

/** A runtime directory of another user, as after `su`, is ignored. So is one whose path is too long for a socket. */
function directoryFor(runtime: string | undefined, user: number): string {
  const fallback = ownServerDirectory(user);
  if (runtime === undefined || !runtime.startsWith("/")) return fallback;
  const directory = join(runtime, "exec-server");
  if (Buffer.byteLength(directory) + ROOM_FOR_BINDING > MAX_SOCKET_PATH_BYTES) return fallback;
  const stats = statIfExists(runtime);
  const isOwn = stats?.isDirectory() === true && stats.uid === user && (stats.mode & OTHERS_MAY_WRITE) === 0;
  return isOwn ? directory : fallback;
}

/** The owner of the directory can impersonate the server, and would get the environment of every command. */
function isPrivate(directory: string, user: number): boolean {
  const stats = statIfExists(directory);
  if (stats === undefined) return false;
  const refuse = (why: string): Failure =>
    new Failure(`the directory of your own server, ${directory}, ${why}`);
  if (stats.isSymbolicLink()) throw refuse("is a symbolic link; remove it");
  if (!stats.isDirectory()) throw refuse("is not a directory; remove it");
  if (stats.uid !== user)
    throw refuse(
      `belongs to somebody else (user ${stats.uid}); set XDG_RUNTIME_DIR to a directory of your own`,
    );
  if ((stats.mode & OTHERS) !== 0) throw refuse(`is open to other users; run 'chmod 700 ${directory}'`);
  return true;
}

function statIfExists(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // It cannot be accessed, so it is unsuitable for a server.
  }
}
