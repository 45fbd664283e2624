import { UsageError } from "../base/errors.ts";
import { pathFromUri, uriFromPath } from "../base/file-uri.ts";

/** Spells an absolute path the wire's way. Nothing relative leaves: the server's working directory is not the caller's. */
export function uriOf(path: string): string {
  if (!path.startsWith("/")) {
    const hint = path.startsWith("file:") ? "a plain path, not a URI" : "a path that starts with /";
    throw new UsageError(`not an absolute path: ${JSON.stringify(path)}; give ${hint}`);
  }
  if (path.includes("\0")) throw new UsageError(`not a path: ${JSON.stringify(path)} holds a NUL`);
  return uriFromPath(path);
}

export interface DecodedPath {
  /** For people alone when the name is not exact. */
  readonly path: string;
  /** False when the name is not UTF-8, so that no text is its name. */
  readonly exact: boolean;
}

export function pathOf(uri: string): DecodedPath {
  const path = pathFromUri(uri);
  if (typeof path === "string") return { path, exact: true };
  return { path: new TextDecoder().decode(path), exact: false };
}
