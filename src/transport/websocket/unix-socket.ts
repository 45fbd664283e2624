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
 * then linked to its place, so that nobody else can reach it before its mode is set, and two servers cannot take the
 * same place. Returns a function that removes it.
 */
export async function bindUnixSocket(server: Server, path: string): Promise<() => void> {
  const directory = dirname(path);
  checkDirectory(directory, path);
  await removeStale(path);
  const workshop = mkdtempSync(join(directory, ".es-"));
  try {
    const bound = join(workshop, "s");
    if (Buffer.byteLength(bound) > MAX_SOCKET_PATH_BYTES)
      throw new UsageError(
        `cannot listen on ${path}: its directory may have at most ${MAX_SOCKET_PATH_BYTES - (bound.length - directory.length)} bytes`,
      );
    await listen(server, bound);
    chmodSync(bound, 0o600);
    linkSync(bound, path);
  } catch (error) {
    server.close();
    // Another one that was started at the same moment.
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw occupied(path);
    throw error;
  } finally {
    rmSync(workshop, { recursive: true, force: true });
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
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found === undefined) throw refuse("does not exist");
  if (!found.isDirectory()) throw refuse("is not a directory");
  const user = process.geteuid?.();
  if (found.uid !== user && found.uid !== 0) throw refuse("belongs to another user");
  if ((found.mode & OTHERS_MAY_WRITE) !== 0 && (found.mode & STICKY) === 0)
    throw refuse("can be written to by other users");
}

/** Removes a socket that a server has left behind. Anything else in its place stays, and is an error. */
async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new UsageError(`cannot listen on ${path}: it exists and is not a socket`);
  const errno = await tryToConnect(path);
  if (errno === undefined) throw occupied(path);
  if (errno !== "ECONNREFUSED" && errno !== "ENOENT")
    throw new ConnectionError(
      `cannot listen on ${path}: whether a server listens there is not known (${errno})`,
      {
        errno,
      },
    );
  const now = lstatSync(path, { throwIfNoEntry: false });
  // With `force`, because its server may have removed it meanwhile.
  if (now !== undefined && isSame(now, found)) rmSync(path, { force: true });
}

/** Undefined if something answers. */
function tryToConnect(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}
