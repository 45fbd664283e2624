import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  type Stats,
  unlinkSync,
} from "node:fs";
import { connect, type Server } from "node:net";
import { basename } from "node:path";
import { CapabilityError } from "../../base/errors.ts";
import { resultOr } from "../../native/result-or.ts";
import { withCleanUp } from "../files/clean-up.ts";
import { fileError, invalidInput } from "../files/file-error.ts";
import type { Location } from "../files/location.ts";
import { joinPath, type NativePath, showPath, splitPath } from "../files/native-path.ts";
import { refuseEntryIn } from "../files/writing.ts";
import { socketFailure, TcpConnection, whenConnected } from "./tcp-connection.ts";

const O_PATH = 0o10000000;
const OTHERS_MAY_USE = 0o077;

/** Throws if a path must not be used, of which it gets the real one, without links. */
type Check = (path: string) => void;
/** The same for what was opened. */
type CheckOpened = (fd: number, path: string) => void;

/**
 * Connects to the socket that a location leads to. It is named by its descriptor: so it is the one that was checked, and
 * its path may be longer than the system's limit. Rejects with a CapabilityError.
 */
export async function connectUnixSocket(
  location: Location,
  check: CheckOpened,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<TcpConnection> {
  try {
    const socket = await location.onTarget({ followSymlinks: true }, (path) =>
      withOpen(path, O_PATH, (fd, own) => {
        location.checkOpened(fd);
        if (!fstatSync(fd).isSocket()) throw invalidInput(`path \`${location.shown}\` is not a socket`);
        check(fd, readlinkSync(own));
        return whenConnected(connect({ path: own, allowHalfOpen: true }), limits);
      }),
    );
    return new TcpConnection(socket, location.shown);
  } catch (error) {
    throw unixFailure(error, `cannot connect to ${location.shown}`);
  }
}

/**
 * Listens on a new Unix socket that only its owner and root can connect to: it is bound in a private directory and then
 * linked to its path. Returns a function that removes it. Rejects with a CapabilityError.
 */
export async function bindUnixSocket(server: Server, location: Location, check: Check): Promise<() => void> {
  const bound = await bind(server, location, check).catch((error: unknown) => {
    server.close();
    throw unixFailure(error, `cannot listen on ${location.shown}`);
  });
  return () => {
    try {
      location.onEntry((path) => {
        const now = lstatSync(path);
        if (now.dev === bound.dev && now.ino === bound.ino) unlinkSync(path);
      });
    } catch {} // It is gone, or its directory is.
  };
}

async function bind(server: Server, location: Location, check: Check): Promise<Stats> {
  return location.onEntry((path) => {
    const { directory, name } = splitPath(path);
    return withOpen(directory, O_PATH | constants.O_DIRECTORY, async (fd, own) => {
      refuseEntryIn(location, fd);
      check(showPath(joinPath(readlinkSync(own), name)));
      return inPrivateDirectory(own, location.shown, async (first) => {
        server.listen({ path: first });
        await once(server, "listening");
        chmodSync(first, 0o600);
        linkSync(first, joinPath(own, name));
        return lstatSync(first);
      });
    });
  });
}

/**
 * Works with a path in a new directory that only this user can change, and removes both. The directory is named by its
 * descriptor, because the owner of the one around it can put a link in its place at any time.
 */
async function inPrivateDirectory<T>(
  parent: string,
  shown: string,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(`${parent}/.es-`);
  try {
    return await withOpen(
      directory,
      O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW,
      async (fd, own) => {
        const { uid, mode } = fstatSync(fd);
        if (uid !== process.geteuid?.() || (mode & OTHERS_MAY_USE) !== 0)
          throw new CapabilityError(
            "PERMISSION_DENIED",
            `cannot listen on ${shown}: another user interferes`,
          );
        // A server that closes removes what it has bound. By then the descriptor may stand for any directory, in which
        // nothing has this name.
        const path = `${own}/${basename(directory)}`;
        try {
          return await work(path);
        } finally {
          rmSync(path, { force: true });
        }
      },
    );
  } finally {
    // It fails if another user has replaced it.
    resultOr(undefined, () => rmdirSync(directory));
  }
}

/** `own` is the path of what is open. */
function withOpen<T>(path: NativePath, flags: number, work: (fd: number, own: string) => T): T {
  const fd = openSync(path, flags);
  return withCleanUp(
    () => work(fd, `/proc/self/fd/${fd}`),
    () => closeSync(fd),
  );
}

function unixFailure(error: unknown, what: string): CapabilityError {
  const known = fileError(error);
  if (!(known instanceof CapabilityError)) return socketFailure(known as Error, what);
  // What was refused before the system was asked says so itself.
  if (known.errno === undefined) return known;
  const code = known.errno === "ECONNREFUSED" ? "CONNECTION_REFUSED" : known.code;
  return new CapabilityError(code, `${what}: ${known.message}`, { cause: error, errno: known.errno });
}
