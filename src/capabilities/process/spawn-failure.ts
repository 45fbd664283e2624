import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { certainSpawnFailure, type SpawnFailure } from "../../base/error-codes.ts";
import { CapabilityError } from "../../base/errors.ts";

/** System errors that a path causes: that of the program, or that of its working directory. */
const PATH_ERRNOS = ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"];
const DENIED_ERRNOS = ["EACCES", "EPERM", "EISDIR", "ETXTBSY"];

/** Adds why the system did not start a program. Errors that are not the system's stay unchanged. */
export async function spawnFailed(error: unknown, cwd: string | Uint8Array): Promise<unknown> {
  if (!(error instanceof CapabilityError) || error.errno === undefined) return error;
  const { message, errno } = error;
  const reason = certainSpawnFailure(errno) ?? (await blame(errno, Buffer.from(cwd)));
  return new CapabilityError("SPAWN_FAILED", message, { errno, reason, cause: error });
}

/** The system names no path, so check the directory again. */
async function blame(errno: string, cwd: Buffer): Promise<SpawnFailure | undefined> {
  if (PATH_ERRNOS.includes(errno)) return (await isDirectory(cwd)) ? "notFound" : "noSuchDirectory";
  if (!DENIED_ERRNOS.includes(errno)) return undefined;
  // A directory that may not be entered is neither missing nor a fault of the program.
  return (await mayEnter(cwd)) ? "notExecutable" : undefined;
}

async function isDirectory(path: Buffer): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

async function mayEnter(path: Buffer): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
