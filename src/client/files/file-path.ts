import { messageOf, ProtocolError, UsageError } from "../../base/errors.ts";
import { pathFromUri, uriFromPath } from "../../base/file-uri.ts";
import { shorten } from "../../base/shorten.ts";
import { checkText } from "../../base/system-text.ts";

/** Characters of a server's path that a message shows. */
const MAX_SHOWN = 200;

/**
 * Converts an absolute path to a URI. Relative paths are refused: the server's working directory is not the caller's.
 */
export function uriOf(path: string): string {
  if (typeof path !== "string")
    throw new UsageError(`not a path: ${typeof path}; use a path that starts with /`);
  if (!path.startsWith("/")) {
    const hint = path.startsWith("file:") ? "a plain path, not a URI" : "a path that starts with /";
    throw new UsageError(`not an absolute path: ${JSON.stringify(path)}; use ${hint}`);
  }
  checkText(`not a path: ${JSON.stringify(path)}`, path);
  return uriFromPath(path);
}

export interface DecodedPath {
  /** Only for display if the name is not exact. */
  readonly path: string;
  /** False if the name is not UTF-8, so that no text represents it. */
  readonly exact: boolean;
}

/** Path of a URI from a server. Throws a ProtocolError if it is not a path, or contains dot segments. */
export function pathOf(uri: string): DecodedPath {
  const decoded = decode(uri);
  if (decoded.path !== "/" && !decoded.path.slice(1).split("/").every(isName))
    throw new ProtocolError(`the server sent an invalid path: ${JSON.stringify(shorten(uri, MAX_SHOWN))}`);
  return decoded;
}

/** The same for a path that must be inside the requested directory. */
export function pathWithin(directory: string, uri: string): DecodedPath {
  const decoded = pathOf(uri);
  const { path } = decoded;
  if (path !== directory && !path.startsWith(directory === "/" ? "/" : `${directory}/`))
    throw new ProtocolError(
      `the server named ${shorten(path, MAX_SHOWN)}, which is outside of ${shorten(directory, MAX_SHOWN)}`,
    );
  return decoded;
}

/** True if the text can name a directory entry and nothing outside the directory. */
export function isName(text: string): boolean {
  return text !== "" && text !== "." && text !== ".." && !/[/\0]/.test(text);
}

function decode(uri: string): DecodedPath {
  try {
    const path = pathFromUri(uri);
    if (typeof path === "string") return { path, exact: true };
    return { path: new TextDecoder().decode(path), exact: false };
  } catch (error) {
    throw new ProtocolError(`the server sent an invalid path: ${shorten(messageOf(error), MAX_SHOWN)}`, {
      cause: error,
    });
  }
}
