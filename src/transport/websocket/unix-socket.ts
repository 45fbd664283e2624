import { once } from "node:events";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  rmSync,
  type Stats,
  statSync,
  unlinkSync,
} from "node:fs";
import { connect, type Server } from "node:net";
import { dirname, join } from "node:path";
import { ConnectionError, UsageError } from "../../base/errors.ts";
import { MAX_SOCKET_PATH_BYTES } from "../../base/socket-url.ts";

const OTHERS_MAY_WRITE = 0o022;
const STICKY = 0o1000;

/**
 * Listens on a Unix socket that only its owner and root can connect to. The socket is bound in a private directory and
 * then linked to its path, so that others cannot reach it before its mode is set, and two servers cannot take the same
 * path. Returns a function that removes it.
 */
export async function bindUnixSocket(server: Server, path: string, backlog?: number): Promise<() => void> {
  const directory = dirname(path);
  checkDirectory(directory, path);
  await removeStale(path);
  const privateDirectory = mkdtempSync(join(directory, ".es-"));
  try {
    const bound = join(privateDirectory, "s");
    if (Buffer.byteLength(bound) > MAX_SOCKET_PATH_BYTES)
      throw new UsageError(
        `cannot listen on ${path}: its directory may have at most ${MAX_SOCKET_PATH_BYTES - (bound.length - directory.length)} bytes`,
      );
    server.listen({ path: bound, backlog });
    await once(server, "listening");
    chmodSync(bound, 0o600);
    linkSync(bound, path);
  } catch (error) {
    server.close();
    // Another one that was started at the same moment.
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw occupied(path);
    throw error;
  } finally {
    rmSync(privateDirectory, { recursive: true, force: true });
  }
  const own = lstatSync(path);
  return () => {
    try {
      // Another server may have taken the place after the socket was removed.
      if (isSame(lstatSync(path), own)) unlinkSync(path);
    } catch {} // It is gone, or its directory is.
  };
}

function occupied(path: string): ConnectionError {
  return new ConnectionError(`cannot listen on ${path}: another server listens there`, {
    errno: "EADDRINUSE",
  });
}

/** In a directory that others can write to, they could replace this socket with their own. */
function checkDirectory(directory: string, path: string): void {
  const refuse = (why: string): UsageError => new UsageError(`cannot listen on ${path}: ${directory} ${why}`);
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES)
    throw new UsageError(`cannot listen on ${path}: it is longer than ${MAX_SOCKET_PATH_BYTES} bytes`);
  const stats = statSync(directory, { throwIfNoEntry: false });
  if (stats === undefined) throw refuse("does not exist");
  if (!stats.isDirectory()) throw refuse("is not a directory");
  const user = process.geteuid?.();
  if (stats.uid !== user && stats.uid !== 0) throw refuse("belongs to another user");
  if ((stats.mode & OTHERS_MAY_WRITE) !== 0 && (stats.mode & STICKY) === 0)
    throw refuse("can be written to by other users");
}

/** Removes a stale socket of another server. Anything else in its place stays, and is an error. */
async function removeStale(path: string): Promise<void> {
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before === undefined) return;
  if (!before.isSocket()) throw new UsageError(`cannot listen on ${path}: it exists and is not a socket`);
  const errno = await tryToConnect(path);
  if (errno === undefined) throw occupied(path);
  if (errno !== "ECONNREFUSED" && errno !== "ENOENT")
    throw new ConnectionError(
      `cannot listen on ${path}: it is unknown whether a server listens there (${errno})`,
      { errno },
    );
  const now = lstatSync(path, { throwIfNoEntry: false });
  // With `force`, because its server may have removed it in the meantime.
  if (now !== undefined && isSame(now, before)) rmSync(path, { force: true });
}

/** Undefined if something answers. */
async function tryToConnect(path: string): Promise<string | undefined> {
  const socket = connect({ path });
  try {
    await once(socket, "connect");
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code ?? message;
  } finally {
    socket.destroy();
  }
}

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}
