import { randomBytes } from "node:crypto";
import { realpathSync, rmSync, statSync } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { abortable } from "../../../base/deadlines.ts";
import { describeFileError, Failure } from "../../shared/failure.ts";
import { print } from "../../shared/standard-streams.ts";
import { untilInterrupted } from "../outcome/until-interrupted.ts";

const PERMISSIONS = 0o7777;

type Pieces = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * Writes a body to stdout, or to a file of this machine. A file is replaced when the body is complete, so that nothing
 * of a failed request takes its place.
 */
export async function writeBody(pieces: Pieces, path: string | undefined): Promise<void> {
  if (path === undefined || path === "-") {
    for await (const piece of pieces) await print(piece);
    return;
  }
  try {
    const old = statSync(path, { throwIfNoEntry: false });
    // A device or a pipe accepts the body, and a directory is an error.
    if (old?.isFile() === false) await writeTo(await open(path, "w"), pieces);
    else await replace(path, old, pieces);
  } catch (error) {
    throw isOwn(error) ? new Failure(`cannot write ${path}: ${describeFileError(error)}`) : error;
  }
}

async function replace(path: string, old: { mode: number } | undefined, pieces: Pieces): Promise<void> {
  // A file behind a link is replaced at its place.
  const target = old === undefined ? path : realpathSync(path);
  const unfinished = join(dirname(target), `.exec-server-fetch-${randomBytes(8).toString("hex")}`);
  const discard = (): void => rmSync(unfinished, { force: true });
  const write = async (): Promise<void> => {
    const file = await open(unfinished, "wx", 0o666);
    if (old !== undefined) await file.chmod(old.mode & PERMISSIONS);
    await writeTo(file, pieces);
    await rename(unfinished, target);
  };
  try {
    await untilInterrupted((signal) => {
      signal.addEventListener("abort", discard);
      return abortable(write(), signal);
    });
  } catch (error) {
    discard();
    throw error;
  }
}

async function writeTo(file: FileHandle, pieces: Pieces): Promise<void> {
  try {
    for await (const piece of pieces) await file.writeFile(piece);
  } finally {
    await file.close();
  }
}

/** True for an error of this machine's files: errors of the body have no system call. */
function isOwn(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall !== undefined;
}
