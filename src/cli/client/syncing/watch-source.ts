import { realpath } from "node:fs/promises";
import { posix } from "node:path";
import { CapabilityError, ExecError } from "../../../base/errors.ts";
import { pathFromUri } from "../../../base/file-uri.ts";
import type { Files } from "../../../client/files/files.ts";
import { type CopyLocation, locationFailure } from "../copying/copy-location.ts";
import { Failure } from "../../shared/failure.ts";
import { SourceChanges } from "./source-changes.ts";

/** Watches a directory until the signal is aborted. Resolves when no change can be missed any more. */
export async function watchSource(source: CopyLocation, signal: AbortSignal): Promise<SourceChanges> {
  const changes = new SourceChanges();
  const gone = goneFailure(source);
  try {
    if (source.files === undefined) await watchHere(source.path, changes, gone, signal);
    else await watchThere(source.files, source.path, changes, gone, signal);
  } catch (error) {
    throw watchFailure(error, source);
  }
  return changes;
}

/** Ends the watch: nothing is deleted because of it. */
export function goneFailure({ text }: CopyLocation): Failure {
  return new Failure(`${text} is gone`);
}

async function watchHere(
  path: string,
  changes: SourceChanges,
  gone: Failure,
  signal: AbortSignal,
): Promise<void> {
  const { watchTree } = await import("../../../capabilities/files/watch-tree.ts");
  const { ownLocation } = await import("../../../capabilities/files/location.ts");
  const root = await realpath(path);
  const close = await watchTree(ownLocation(root), {
    recursive: true,
    onChange: async ({ locations, overflow, ended }) => {
      if (overflow) changes.noteEverything();
      // Names that are not UTF-8 cannot be copied.
      const paths = locations.map(({ uri }) => pathFromUri(uri)).filter((one) => typeof one === "string");
      changes.note(paths.map((one) => below(root, one)));
      if (ended) changes.end(gone);
    },
  });
  signal.addEventListener("abort", close, { once: true });
}

async function watchThere(
  files: Files,
  path: string,
  changes: SourceChanges,
  gone: Failure,
  signal: AbortSignal,
): Promise<void> {
  const root = posix.resolve(path);
  const watched = await files.watch(root, { recursive: true, signal });
  const follow = async (): Promise<void> => {
    for await (const { paths, overflow } of watched) {
      if (overflow) changes.noteEverything();
      changes.note(paths.map((one) => below(root, one)));
    }
    throw gone;
  };
  follow().catch((error: unknown) => changes.end(error));
}

/** Empty for the directory itself. */
function below(root: string, path: string): string {
  return path.slice(root === "/" ? 1 : root.length + 1);
}

function watchFailure(error: unknown, { text }: CopyLocation): unknown {
  if (error instanceof CapabilityError || (error instanceof ExecError && error.code === "UNSUPPORTED"))
    return new Failure(`${text} cannot be watched: ${error.message}; without --watch it can be synced once`);
  return locationFailure(error, text);
}
