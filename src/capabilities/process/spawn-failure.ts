import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { certainSpawnFailure, type SpawnFailure } from "../../base/error-codes.ts";
import { CapabilityError } from "../../base/errors.ts";

/** System errors caused by a path: the program's, or its working directory's. */
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
  if (PATH_ERRNOS.includes(errno)) {
    const directory = await stat(cwd).catch(() => undefined);
    return directory?.isDirectory() === true ? "notFound" : "noSuchDirectory";
  }
  if (!DENIED_ERRNOS.includes(errno)) return undefined;
  // A directory that may not be entered is neither missing nor a fault of the program.
  return access(cwd, constants.X_OK).then(
    () => "notExecutable",
    () => undefined,
  );
}
