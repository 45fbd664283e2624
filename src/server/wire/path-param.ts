import { ForeignPathError, pathFromUri, PathUriError, resolveDots } from "../../base/file-uri.ts";
import { ERRNO, osError } from "../../native/os-error.ts";
import { invalidParams } from "./refusals.ts";

/** Dots and slashes are resolved, so there may be many; this bounds the work. */
const MAX_PATH_TEXT_LENGTH = 256 * 1024;
/** Maximum length of a path in the system, including the terminating NUL. */
const PATH_MAX = 4096;

/**
 * Path of a parameter: a `file:` URI, or the absolute path itself, as older clients wrote it. A plain path is taken
 * literally, without escapes; dot segments are resolved as in a URI. Never longer than the system allows.
 */
export function pathFromParam(text: string): string | Uint8Array {
  if (text.length > MAX_PATH_TEXT_LENGTH) throw osError(ERRNO.ENAMETOOLONG);
  const path = text.startsWith("/") ? nativePath(text) : pathFromUri(text);
  // A UTF-16 code unit takes at most three bytes.
  if (path.length * 3 >= PATH_MAX && Buffer.byteLength(path) >= PATH_MAX) throw osError(ERRNO.ENAMETOOLONG);
  return path;
}

/** The same, with the errors of the wire: `foreign` makes that about a path of another host. */
export function decodePath(text: string, foreign: (error: ForeignPathError) => Error): string | Uint8Array {
  try {
    return pathFromParam(text);
  } catch (error) {
    if (error instanceof PathUriError) throw invalidParams(error.message);
    throw error instanceof ForeignPathError ? foreign(error) : error;
  }
}

function nativePath(text: string): string {
  if (text.includes("\0")) throw new PathUriError("a path may not contain a NUL character");
  return resolveDots(text);
}
