/** Text that is no path URI at all, whatever the host. The message is the wire's. */
export class PathUriError extends Error {}
/** A path URI that names nothing on this host, such as a Windows path. */
export class ForeignPathError extends Error {}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
/** Printable characters that a URI spells as they are. All other bytes are percent-encoded. */
const PLAIN = /[!$&'()*+,\-./0-9:;=@A-Z[\]^_a-z|~]/;

/**
 * Turns a `file:` URI into an absolute POSIX path: text, or bytes when it is not UTF-8. Dot segments are resolved as URLs do it, and `%2F` is a separator, so
 * the path that comes out is the one to check, never the URI.
 */
export function pathFromUri(uri: string): string | Uint8Array {
  const scheme = SCHEME.exec(uri)?.[1];
  if (scheme === undefined) throw new PathUriError("invalid URI: relative URL without a base");
  if (scheme.toLowerCase() !== "file")
    throw new PathUriError(`unsupported path URI scheme \`${scheme.toLowerCase()}\``);
  const url = parseUrl(uri);
  if (url.search !== "" || uri.includes("?"))
    throw new PathUriError("query parameters are not allowed in path URIs");
  if (url.hash !== "" || uri.includes("#")) throw new PathUriError("fragments are not allowed in path URIs");
  if (url.host !== "" || /^\/[A-Za-z]:(\/|$)/.test(url.pathname)) throw foreign(uri);
  // The escape for paths without a faithful URI starts with %00; this host has none of those, for bytes can be encoded.
  if (url.pathname.startsWith("/%00/bad/path/")) throw foreign(uri);
  if (/%00/.test(url.pathname)) throw new PathUriError(foreign(uri).message);
  return decode(url.pathname.length > 1 ? url.pathname.replace(/\/+$/, "") || "/" : url.pathname);
}

/** The same where a path must be text. */
export function textPathFromUri(uri: string): string {
  const path = pathFromUri(uri);
  if (typeof path !== "string") throw foreign(uri);
  return path;
}

export function uriFromPath(path: string | Uint8Array): string {
  const bytes = typeof path === "string" ? new TextEncoder().encode(path) : path;
  let uri = "file://";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    uri +=
      byte < 128 && PLAIN.test(character)
        ? character
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return uri;
}

function parseUrl(uri: string): URL {
  try {
    return new URL(uri);
  } catch (cause) {
    throw new PathUriError("invalid URI: invalid path", { cause });
  }
}

function foreign(uri: string): ForeignPathError {
  return new ForeignPathError(`'${uri}' is invalid on 'linux'`);
}

function decode(pathname: string): string | Uint8Array {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return Uint8Array.from(
      pathname.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      ),
      (character) => character.charCodeAt(0),
    );
  }
}
