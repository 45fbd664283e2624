import { FileError } from "../../../client/files/file-error.ts";
import { EmptySourceError } from "../../../client/files/local/mirror-tree.ts";
import { ChangedFileError } from "../../../client/files/local/tree-copy.ts";
import type { MirrorOptions } from "../../../client/files/trees.ts";
import { defined } from "../../shared/defined.ts";
import { Failure } from "../../shared/failure.ts";
import type { CopyLocation } from "../copying/copy-location.ts";
import { describeCopyError, ShownCopy } from "../copying/shown-copy.ts";
import type { Exclusion } from "./exclusion.ts";
import { Changes, type PassResult } from "./sync-report.ts";

/** Every other file would fail, too. */
const FULL = new Set(["ENOSPC", "EDQUOT", "EROFS"]);

/** `only` are the paths to look at; without it, everything. */
export interface PassOptions extends Pick<MirrorOptions, "delete" | "deleteAll" | "dryRun"> {
  readonly quiet: boolean;
  readonly exclusion: Exclusion | undefined;
  readonly only?: readonly string[] | undefined;
  /** Takes the paths of files that were changed while they were copied; without it they have failed. */
  readonly onUnsteady?: (path: string) => void;
}

/** Makes the destination like the source, once. Errors about single files are printed, and are part of the result. */
export async function syncOnce(
  source: CopyLocation,
  destination: CopyLocation,
  { exclusion, only, onUnsteady, quiet, ...mirror }: PassOptions,
  signal: AbortSignal,
): Promise<PassResult> {
  const copying = new ShownCopy({ quiet, signal });
  // A dry run lists all changes.
  const changes = new Changes({ all: mirror.dryRun === true });
  const fail = (error: FileError): void => {
    const failure = describeCopyError(error, [source, destination]);
    if (error.errno === "ENOTEMPTY" && mirror.delete !== true)
      failure.message += "; --delete would replace it";
    if (FULL.has(error.errno ?? "")) throw new Failure(failure.message);
    copying.fail(failure);
  };
  if (only === undefined) void copying.count([source]);
  try {
    const tree = await copying.copy(source, destination, {
      mirror: { ...mirror, ...defined({ only }), onChange: (change) => changes.add(change) },
      ...(exclusion === undefined ? {} : { filter: (entry) => exclusion.takes(entry) }),
      onError: (error, path) => {
        if (error instanceof ChangedFileError && onUnsteady !== undefined) onUnsteady(path);
        else fail(error);
      },
    });
    return { tree, changes, failed: copying.failed, seconds: copying.progress.seconds };
  } catch (error) {
    throw passFailure(error, source, destination);
  } finally {
    copying.end();
  }
}

function passFailure(error: unknown, source: CopyLocation, destination: CopyLocation): unknown {
  if (!(error instanceof FileError)) return error;
  if (error instanceof EmptySourceError)
    return new Failure(
      `${source.text} is empty: --delete would delete everything in ${destination.text}; add --force if you mean it`,
    );
  const { message } = describeCopyError(error, [source, destination]);
  if (error.errno === "ENOTDIR" && error.cause === undefined && error.path === source.path)
    return new Failure(`${message}; 'exec-server cp' copies single files`);
  return new Failure(message);
}
