/** Text that is no path URI at all, whatever the host. The message is the wire's. */
export class PathUriError extends Error {}
/** A path URI that names nothing on this host, such as a Windows path. */
export class ForeignPathError extends Error {}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
/**
 * Turns a `file:` URI into an absolute POSIX path. Dot segments are resolved as URLs do it, and `%2F` is a separator, so the path
 * that comes out is the one to check, never the URI.
 */
export function pathFromUri(uri: string): string {
  const scheme = SCHEME.exec(uri)?.[1];
  if (scheme === undefined) throw new PathUriError("invalid URI: relative URL without a base");
  if (scheme.toLowerCase() !== "file")
    throw new PathUriError(`unsupported path URI scheme \`${scheme.toLowerCase()}\``);
  const url = parseUrl(uri);
  if (url.search !== "" || uri.includes("?"))
    throw new PathUriError("query parameters are not allowed in path URIs");
  if (url.hash !== "" || uri.includes("#")) throw new PathUriError("fragments are not allowed in path URIs");
  if (url.host !== "" || /^\/[A-Za-z]:(\/|$)/.test(url.pathname))
    throw new ForeignPathError(describeForeign(uri));
  if (/%00/.test(url.pathname)) throw new PathUriError(describeForeign(uri));
  const path = decodePercent(uri, url.pathname);
  return path.length > 1 ? path.replace(/\/+$/, "") || "/" : path;
}

export function uriFromPath(path: string): string {
  return "file://" + path.split("/").map(encodeSegment).join("/");
}

function parseUrl(uri: string): URL {
  try {
    return new URL(uri);
  } catch (cause) {
    throw new PathUriError("invalid URI: invalid path", { cause });
  }
}

function describeForeign(uri: string): string {
  return `'${uri}' is invalid on 'linux'`;
}

function decodePercent(uri: string, pathname: string): string {
  try {
    return decodeURIComponent(pathname);
  } catch (cause) {
    // Bytes that are not UTF-8 have no spelling as a string; refusing beats naming another file.
    throw new ForeignPathError(describeForeign(uri), { cause });
  }
}

function encodeSegment(segment: string): string {
  // encodeURIComponent leaves !'()* alone, and so do the URIs of the wire.
  return encodeURIComponent(segment).replaceAll("%40", "@").replaceAll("%3A", ":").replaceAll("%2B", "+");
}
