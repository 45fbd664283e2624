/** Text that is no path URI at all, whatever the host. The message is the wire's. */
export class PathUriError extends Error {}
/** A path URI that names nothing on this host, such as a Windows path. */
export class ForeignPathError extends Error {
  /** As it reads after URL parsing. */
  readonly uri: string;

  constructor(uri: string) {
    super(`'${uri}' is invalid on 'linux'`);
    this.uri = uri;
  }
}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
const DRIVE = /^\/[A-Za-z](?::|%3[aA])(?:\/|$)/;
/** What most URIs look like: nothing to decode, nothing to resolve, nothing foreign. */
const ORDINARY = /^file:\/\/((?:\/\.?[A-Za-z0-9_-][A-Za-z0-9._-]*)+|\/)$/;
/** Printable characters that a URI spells as they are. All other bytes are percent-encoded. */
const PLAIN = /[!$&'()*+,\-./0-9:;=@A-Z[\]^_a-z|~]/;

/**
 * Turns a `file:` URI into an absolute POSIX path: text, or bytes when it is not UTF-8. Dot segments are resolved as URLs do it, and `%2F` is a separator, so
 * the path that comes out is the one to check, never the URI.
 */
export function pathFromUri(uri: string): string | Uint8Array {
  const ordinaryPath = ORDINARY.exec(uri)?.[1];
  if (ordinaryPath !== undefined) return ordinaryPath;
  const text = uri.trim();
  const scheme = SCHEME.exec(text)?.[1];
  if (scheme === undefined) throw new PathUriError("invalid URI: relative URL without a base");
  if (scheme.toLowerCase() !== "file")
    throw new PathUriError(`unsupported path URI scheme \`${scheme.toLowerCase()}\``);
  const url = parseUrl(text);
  if (url.search !== "" || text.includes("?"))
    throw new PathUriError("query parameters are not allowed in path URIs");
  if (url.hash !== "" || text.includes("#")) throw new PathUriError("fragments are not allowed in path URIs");
  if (url.host !== "" || DRIVE.test(url.pathname)) throw foreign(url);
  // The escape for paths without a faithful URI starts with %00; this host has none of those, for bytes can be encoded.
  if (url.pathname.startsWith("/%00/bad/path/")) throw foreign(url);
  if (url.pathname.includes("%00")) throw new PathUriError(foreign(url).message);
  return decode(url.pathname.length > 1 ? url.pathname.replace(/\/+$/, "") || "/" : url.pathname);
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

function foreign(url: URL): ForeignPathError {
  return new ForeignPathError(url.href);
}

/** A percent sign that escapes nothing stands for itself. */
function decode(pathname: string): string | Uint8Array {
  if (!pathname.includes("%")) return pathname;
  const bytes: number[] = [];
  const encoder = new TextEncoder();
  for (const part of pathname.split(/(%[0-9A-Fa-f]{2})/)) {
    if (/^%[0-9A-Fa-f]{2}$/.test(part)) bytes.push(Number.parseInt(part.slice(1), 16));
    else bytes.push(...encoder.encode(part));
  }
  const path = Uint8Array.from(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(path);
  } catch {
    return path;
  }
}
