import { pathFromUri, PathUriError, resolveDots } from "../base/file-uri.ts";
import { ERRNO, osError } from "../native/os-error.ts";

/** Dots and slashes may be many, for they are resolved; but there must be an end to the work. */
export const MAX_PATH_TEXT_LENGTH = 256 * 1024;
/** The system takes no longer ones, with the zero behind them. */
const PATH_MAX = 4096;

/**
 * The path of a parameter: a `file:` URI, or the absolute path itself, as clients wrote it before there were URIs. A path is taken as it is written,
 * without escapes; dot segments are resolved as those of a URI are. It is never longer than the system allows.
 */
export function pathFromParam(text: string): string | Uint8Array {
  if (text.length > MAX_PATH_TEXT_LENGTH) throw osError(ERRNO.ENAMETOOLONG);
  const path = text.startsWith("/") ? nativePath(text) : pathFromUri(text);
  // No character is longer than three bytes for each of its units.
  if (path.length * 3 >= PATH_MAX && Buffer.byteLength(path) >= PATH_MAX) throw osError(ERRNO.ENAMETOOLONG);
  return path;
}

function nativePath(text: string): string {
  if (text.includes("\0")) throw new PathUriError("a path may not contain a NUL character");
  return resolveDots(text);
}
