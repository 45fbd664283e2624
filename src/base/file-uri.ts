/** Text that is not a path URI on any host. The message is fixed by the wire. */
export class PathUriError extends Error {}
/** A path URI that cannot exist on this host, such as a Windows path. */
export class ForeignPathError extends Error {
  /** The URI after URL parsing. */
  readonly uri: string;

  constructor(uri: string) {
    super(`'${uri}' is invalid on 'linux'`);
    this.uri = uri;
  }
}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/;
const DRIVE = /^\/[A-Za-z](?::|%3[aA])(?:\/|$)/;
/** The common case: nothing to decode, nothing to resolve, nothing foreign. */
const ORDINARY = /^file:\/\/((?:\/\.?[A-Za-z0-9_-][A-Za-z0-9._-]*)+|\/)$/;
/** Longer URIs are parsed byte by byte, because the regular expression keeps backtracking state per character. */
const MAX_ORDINARY_LENGTH = 4096;
/** The authority, up to the path. */
const HOST = /^file:[/\\]{2}([^/\\?#]*)/i;
/** Host names are never longer. Normalizing a very long one can take the URL parser minutes. */
const MAX_HOST_LENGTH = 255;
/** Printable characters that a URI contains unescaped. All other bytes are percent-encoded. */
const PLAIN = /^[!$&'()*+,\-./0-9:;=@A-Z[\]^_a-z|~]*$/;

const SLASH = 0x2f;
const DOT = 0x2e;
const PERCENT = 0x25;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Turns a `file:` URI into an absolute POSIX path: text, or bytes if it is not UTF-8. `%2F` is a separator. Dots are
 * resolved textually, first as in URLs and then again after unescaping, so the result contains none. Check this path,
 * never the URI.
 */
export function pathFromUri(uri: string): string | Uint8Array {
  const ordinaryPath = uri.length <= MAX_ORDINARY_LENGTH ? ORDINARY.exec(uri)?.[1] : undefined;
  if (ordinaryPath !== undefined) return ordinaryPath;
  // URLs ignore line breaks and tabs everywhere.
  const text = uri.trim().replace(/[\t\n\r]/g, "");
  const scheme = SCHEME.exec(text)?.[1];
  if (scheme === undefined) throw new PathUriError("invalid URI: relative URL without a base");
  if (scheme.toLowerCase() !== "file")
    throw new PathUriError(`unsupported path URI scheme \`${scheme.toLowerCase()}\``);
  if ((HOST.exec(text)?.[1]?.length ?? 0) > MAX_HOST_LENGTH) throw new ForeignPathError(text);
  const url = parseUrl(text);
  if (url.search !== "" || text.includes("?"))
    throw new PathUriError("query parameters are not allowed in path URIs");
  if (url.hash !== "" || text.includes("#")) throw new PathUriError("fragments are not allowed in path URIs");
  const { pathname } = url;
  if (url.host !== "" || DRIVE.test(pathname)) throw foreign(url);
  // Paths without a faithful URI are escaped with a leading %00. This host has none, because it can encode any bytes.
  if (pathname.startsWith("/%00/bad/path/")) throw foreign(url);
  if (pathname.includes("%00")) throw new PathUriError(foreign(url).message);
  return textOrBytes(resolve(encoder.encode(pathname), { escapes: true }));
}

/** Resolves dots and repeated slashes in an absolute path, textually. */
export function resolveDots(path: string): string {
  return decoder.decode(resolve(encoder.encode(path), { escapes: false }));
}

export function uriFromPath(path: string | Uint8Array): string {
  if (typeof path === "string" && PLAIN.test(path)) return `file://${path}`;
  uriOfBytes ??= Array.from({ length: 256 }, (_, byte) => uriOfByte(byte));
  let uri = "file://";
  for (const byte of typeof path === "string" ? encoder.encode(path) : path) uri += uriOfBytes[byte]!;
  return uri;
}

/** URI spelling of each byte. */
let uriOfBytes: string[] | undefined;

function uriOfByte(byte: number): string {
  const character = String.fromCharCode(byte);
  return byte < 128 && PLAIN.test(character)
    ? character
    : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
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

/**
 * Decodes and resolves an absolute path in place, in one pass: the write position never overtakes the read position. A
 * percent sign that is not part of an escape stands for itself.
 */
function resolve(path: Uint8Array, { escapes }: { escapes: boolean }): Uint8Array {
  // Keep the first slash. Every name that is kept is followed by a slash.
  let end = 1;
  let nameStart = 1;
  for (let at = 1; at <= path.length; at += 1) {
    let byte = at < path.length ? path[at]! : SLASH;
    if (byte === PERCENT && escapes) {
      const escaped = hexByte(path[at + 1], path[at + 2]);
      if (escaped !== undefined) {
        byte = escaped;
        at += 2;
      }
    }
    if (byte !== SLASH) {
      path[end] = byte;
      end += 1;
      continue;
    }
    const length = end - nameStart;
    if (length === 2 && path[nameStart] === DOT && path[nameStart + 1] === DOT)
      end = nameStart > 1 ? path.lastIndexOf(SLASH, nameStart - 2) + 1 : 1;
    else if (length === 1 && path[nameStart] === DOT) end = nameStart;
    else if (length > 0) {
      path[end] = SLASH;
      end += 1;
    }
    nameStart = end;
  }
  return path.subarray(0, Math.max(1, end - 1));
}

function hexByte(high: number | undefined, low: number | undefined): number | undefined {
  const [first, second] = [hexDigit(high), hexDigit(low)];
  return first === undefined || second === undefined ? undefined : first * 16 + second;
}

function hexDigit(code: number | undefined): number | undefined {
  if (code === undefined) return undefined;
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : undefined;
}

function textOrBytes(path: Uint8Array): string | Uint8Array {
  try {
    return decoder.decode(path);
  } catch {
    return path;
  }
}
