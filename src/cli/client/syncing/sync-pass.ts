import { FileError } from "../../../client/files/file-error.ts";
import { EmptySourceError } from "../../../client/files/local/mirror-errors.ts";
import { ChangedFileError } from "../../../client/files/local/tree-copy.ts";
import type { TreeOptions } from "../../../client/files/trees.ts";
import { COPY_CONCURRENCY, copyBetween } from "../copying/copy-between.ts";
import { describeCopyError } from "../copying/copy-error.ts";
import type { CopyLocation } from "../copying/copy-location.ts";
import { CopyProgress } from "../copying/copy-progress.ts";
import { countSource } from "../copying/count-source.ts";
import { FrugalMemory } from "../copying/frugal-memory.ts";
import { Failure } from "../outcome/failure.ts";
import { complain } from "../print/complain.ts";
import { ProgressLine } from "../print/progress-line.ts";
import type { Exclusion } from "./exclusion.ts";
import { Changes, type PassResult } from "./sync-report.ts";

/** Every other file would fail, too. */
const FULL = new Set(["ENOSPC", "EDQUOT", "EROFS"]);

export interface PassOptions {
  readonly deletes: boolean;
  readonly deletesAll: boolean;
  readonly isDry: boolean;
  /** Whether all changes are listed, not only some. */
  readonly listsAll: boolean;
  readonly showsProgress: boolean;
  readonly exclusion: Exclusion | undefined;
  /** Only these paths; undefined for everything. */
  readonly only?: readonly string[] | undefined;
  /** Takes the paths of files that were changed while they were copied; without it they have failed. */
  readonly onUnsteady?: (path: string) => void;
}

/** Makes the destination like the source, once. Errors about single files are printed, and are part of the result. */
export async function syncOnce(
  source: CopyLocation,
  destination: CopyLocation,
  options: PassOptions,
  signal: AbortSignal,
): Promise<PassResult> {
  const { exclusion, only } = options;
  const progress = new CopyProgress();
  const line = options.showsProgress ? ProgressLine.onStderr(() => progress.line()) : undefined;
  const memory = new FrugalMemory({ receives: source.files !== undefined });
  const changes = new Changes({ all: options.listsAll });
  const failed: { path: string; message: string }[] = [];
  const fail = (error: FileError): void => {
    const told = describeCopyError(error, [source, destination]);
    if (error.errno === "ENOTEMPTY" && !options.deletes) told.message += "; --delete would replace it";
    if (FULL.has(error.errno ?? "")) throw new Failure(told.message);
    failed.push(told);
    const write = (): void => complain(told.message);
    if (line === undefined) write();
    else line.above(write);
  };
  const copyOptions: TreeOptions = {
    mirror: {
      delete: options.deletes,
      deleteAll: options.deletesAll,
      dryRun: options.isDry,
      ...(only === undefined ? {} : { only }),
      onChange: (change) => changes.add(change),
    },
    ...(exclusion === undefined ? {} : { filter: (entry) => exclusion.takes(entry) }),
    verify: true,
    concurrency: COPY_CONCURRENCY,
    signal,
    onProgress: (told) => {
      progress.update(told);
      memory.copied(told);
    },
    onError: (error, path) => {
      if (error instanceof ChangedFileError && options.onUnsteady !== undefined) options.onUnsteady(path);
      else fail(error);
    },
  };
  if (line !== undefined && only === undefined) void count(source, progress, signal);
  try {
    const tree = await copyBetween(source, destination, copyOptions);
    return { tree, changes, failed, seconds: progress.seconds };
  } catch (error) {
    throw passFailure(error, source, destination);
  } finally {
    line?.end();
  }
}

/** Runs beside the pass, to show how much is left. Excluded files count too until the pass reaches them. */
async function count(source: CopyLocation, progress: CopyProgress, signal: AbortSignal): Promise<void> {
  const total = { files: 0, bytes: 0 };
  try {
    await countSource(source, total, signal);
    progress.total = total;
  } catch {
    // The pass reports it. Without the total there is no time left to show.
  }
}

function passFailure(error: unknown, source: CopyLocation, destination: CopyLocation): unknown {
  if (!(error instanceof FileError)) return error;
  if (error instanceof EmptySourceError)
    return new Failure(
      `${source.text} is empty: --delete would delete everything in ${destination.text}; give --force if that is meant`,
    );
  const { message } = describeCopyError(error, [source, destination]);
  if (error.errno === "ENOTDIR" && error.cause === undefined && error.path === source.path)
    return new Failure(`${message}; 'exec-server cp' copies single files`);
  return new Failure(message);
}
