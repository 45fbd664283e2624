import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import { ExecError } from "../../base/errors.ts";
import { describeFileError, Failure } from "./failure.ts";

const FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const WAIT_MS = 5_000;
const POLL_MS = 20;

/**
 * Replaces a file atomically: readers see the old text or the new one. Only one program does so at a time: `change` is
 * called while the others wait. A file behind a link is replaced at its own path. The new file is readable by its owner
 * only, unless it keeps the owner and the mode of the previous file.
 */
export async function replaceFile(
  path: string,
  change: (target: string) => string | Promise<string>,
  { keepAccess = false }: { keepAccess?: boolean } = {},
): Promise<void> {
  const target = linkTarget(path);
  const before = statOf(target, path);
  const unfinished = `${target}.new`;
  const fd = await create(unfinished, path);
  try {
    const bytes = Buffer.from(await change(target));
    for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
    if (before !== undefined && keepAccess) copyAccess(fd, before, path);
    fsyncSync(fd);
    renameSync(unfinished, target);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error instanceof Failure || error instanceof ExecError ? error : failure(path, error);
  } finally {
    closeSync(fd);
  }
}

/** Undefined if the file does not exist yet. A device is refused: it would be replaced, too. */
function statOf(target: string, path: string): Stats | undefined {
  let stats: Stats | undefined;
  try {
    stats = statSync(target, { throwIfNoEntry: false });
  } catch (error) {
    throw failure(path, error);
  }
  if (stats?.isFile() === false) throw new Failure(`cannot write ${path}: it is not a regular file`);
  return stats;
}

function copyAccess(fd: number, { uid, gid, mode }: Stats, path: string): void {
  try {
    fchownSync(fd, uid, gid);
    fchmodSync(fd, mode & 0o777);
  } catch (error) {
    throw new Failure(`cannot keep the owner of ${path}: ${describeFileError(error)}`);
  }
}

function linkTarget(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The unfinished file is also the lock. */
async function create(unfinished: string, path: string): Promise<number> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    try {
      mkdirSync(dirname(unfinished), { recursive: true, mode: 0o700 });
      return openSync(unfinished, FLAGS, 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw failure(path, error);
      if (Date.now() > deadline)
        throw new Failure(
          `${unfinished} exists: another command is changing ${path}, or was killed while it did; in that case, remove this file`,
        );
    }
    await setTimeout(POLL_MS);
  }
}

function failure(path: string, error: unknown): Failure {
  return new Failure(`cannot write ${path}: ${describeFileError(error)}`);
}
