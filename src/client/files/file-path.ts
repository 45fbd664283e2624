import { messageOf, ProtocolError, UsageError } from "../../base/errors.ts";
import { pathFromUri, uriFromPath } from "../../base/file-uri.ts";
import { checkText } from "../../base/system-text.ts";

/** Spells an absolute path the wire's way. Nothing relative leaves: the server's working directory is not the caller's. */
export function uriOf(path: string): string {
  if (!path.startsWith("/")) {
    const hint = path.startsWith("file:") ? "a plain path, not a URI" : "a path that starts with /";
    throw new UsageError(`not an absolute path: ${JSON.stringify(path)}; give ${hint}`);
  }
  checkText(`not a path: ${JSON.stringify(path)}`, path);
  return uriFromPath(path);
}

export interface DecodedPath {
  /** For people alone when the name is not exact. */
  readonly path: string;
  /** False when the name is not UTF-8, so that no text is its name. */
  readonly exact: boolean;
}

/** The path that a server named. Throws a ProtocolError when it is none, or leads through dots to another one. */
export function pathOf(uri: string): DecodedPath {
  const decoded = decode(uri);
  if (decoded.path !== "/" && !decoded.path.slice(1).split("/").every(isName))
    throw new ProtocolError(`the server named a path that is none: ${JSON.stringify(shortened(uri))}`);
  return decoded;
}

/** The same for a path that must not be outside of the directory that was asked about. */
export function pathWithin(directory: string, uri: string): DecodedPath {
  const decoded = pathOf(uri);
  const { path } = decoded;
  if (path !== directory && !path.startsWith(directory === "/" ? "/" : `${directory}/`))
    throw new ProtocolError(
      `the server named ${shortened(path)}, which is outside of ${shortened(directory)}`,
    );
  return decoded;
}

/** Tells whether text can be the name of a directory's entry, and of nothing elsewhere. */
export function isName(text: string): boolean {
  return text !== "" && text !== "." && text !== ".." && !/[/\0]/.test(text);
}

function decode(uri: string): DecodedPath {
  try {
    const path = pathFromUri(uri);
    if (typeof path === "string") return { path, exact: true };
    return { path: new TextDecoder().decode(path), exact: false };
  } catch (error) {
    throw new ProtocolError(`the server named no path: ${shortened(messageOf(error))}`, { cause: error });
  }
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
