import { resolve } from "node:path";
import type { FileError } from "../../../client/files/file-error.ts";
import { pathFailure } from "../outcome/path-failure.ts";
import type { CopyPlace } from "./copy-place.ts";

/** The path that an error is about, as it is typed, and one line about it. */
export function describeCopyError(
  error: FileError,
  places: readonly [CopyPlace, CopyPlace],
): { path: string; message: string } {
  const path = `${placeOfError(error, places).prefix}${error.path}`;
  // What this program itself refuses has its reason in the message.
  const reason = error.cause === undefined ? error.message.split(`${error.path}: `).at(-1) : undefined;
  const message = reason === undefined ? pathFailure(error, path)!.message : `${path}: ${reason}`;
  return { path, message };
}

/** The machine that an error is about. */
function placeOfError(error: FileError, places: readonly [CopyPlace, CopyPlace]): CopyPlace {
  const isOfServer = error.rpcCode !== undefined;
  const isOfSystem = !isOfServer && error.cause !== undefined;
  const possible = places.filter(({ files }) => (files === undefined ? !isOfServer : !isOfSystem));
  const isIn = ({ files, path }: CopyPlace): boolean =>
    error.path.startsWith(files === undefined ? resolve(path) : path);
  return possible.find(isIn) ?? possible[0] ?? places[0];
}
