import { pathFromUri, PathUriError } from "../base/file-uri.ts";

/**
 * The path of a parameter: a `file:` URI, or the absolute path itself, as clients wrote it before there were URIs. A path is taken as it is written,
 * without escapes; dot segments are resolved as those of a URI are.
 */
export function pathFromParam(text: string): string | Uint8Array {
  if (!text.startsWith("/")) return pathFromUri(text);
  if (text.includes("\0")) throw new PathUriError("a path may not contain a NUL character");
  const names: string[] = [];
  for (const name of text.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}
