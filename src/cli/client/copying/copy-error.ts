import { resolve } from "node:path";
import type { FileError } from "../../../client/files/file-error.ts";
import { pathFailure } from "../outcome/path-failure.ts";
import type { CopyLocation } from "./copy-location.ts";

/** The path that an error is about, as it is typed, and one line about it. */
export function describeCopyError(
  error: FileError,
  locations: readonly [CopyLocation, CopyLocation],
): { path: string; message: string } {
  const path = `${locationOfError(error, locations).prefix}${error.path}`;
  // What this program itself refuses has its reason in the message.
  const reason = error.cause === undefined ? error.message.split(`${error.path}: `).at(-1) : undefined;
  const message = reason === undefined ? pathFailure(error, path)!.message : `${path}: ${reason}`;
  return { path, message };
}

/** The machine that an error is about. */
function locationOfError(error: FileError, locations: readonly [CopyLocation, CopyLocation]): CopyLocation {
  const isOfServer = error.rpcCode !== undefined;
  const isOfSystem = !isOfServer && error.cause !== undefined;
  const possible = locations.filter(({ files }) => (files === undefined ? !isOfServer : !isOfSystem));
  const isIn = ({ files, path }: CopyLocation): boolean =>
    error.path.startsWith(files === undefined ? resolve(path) : path);
  return possible.find(isIn) ?? possible[0] ?? locations[0];
}
