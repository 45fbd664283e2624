import type { IncomingMessage } from "node:http";
import { type Destination, formatAuthority, parseAuthority } from "./destination.ts";
import { headerValues } from "./forwarded-headers.ts";

/** The destination of an HTTP request. */
export interface HttpTarget extends Destination {
  /** Path and query. */
  readonly path: string;
  /** Value of the `Host` header. */
  readonly authority: string;
  /** Whether the URL's scheme requires TLS. */
  readonly secure: boolean;
}

const HTTP_PORT = 80;
const HTTPS_PORT = 443;

/**
 * Reads the target, or describes what is wrong with it. The host that is checked and the host that is contacted must be
 * the same.
 */
export function httpTarget({ url = "", rawHeaders }: IncomingMessage): HttpTarget | string {
  const hosts = headerValues(rawHeaders, "host");
  if (hosts.length > 1) return "more than one Host header";
  const [host] = hosts;
  const absolute = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^#]*)/i.exec(url);
  if (absolute === null) return url.startsWith("/") ? target("http", host ?? "", url) : "missing host";
  const scheme = absolute[1]!.toLowerCase();
  if (scheme !== "http" && scheme !== "https") return `unsupported scheme: ${scheme}`;
  const path = absolute[3]!;
  const wanted = target(scheme, absolute[2]!, path.startsWith("/") ? path : `/${path}`);
  if (typeof wanted === "string" || host === undefined) return wanted;
  const named = parseAuthority(host, wanted.secure ? HTTPS_PORT : HTTP_PORT);
  return named?.host === wanted.host && named.port === wanted.port
    ? wanted
    : "Host header does not match request target";
}

/** Reads the target of a request inside a tunnel, whose host and port are the only ones it may name. */
export function tunnelledTarget(
  { url = "", rawHeaders }: IncomingMessage,
  { host, port }: Destination,
): HttpTarget | string {
  const hosts = headerValues(rawHeaders, "host");
  if (hosts.length > 1) return "more than one Host header";
  const absolute = /^https:\/\/([^/?#]*)([^#]*)/i.exec(url);
  if (absolute === null && !url.startsWith("/") && url !== "*") return "unsupported request target";
  for (const authority of [hosts[0] ?? "", ...(absolute === null ? [] : [absolute[1]!])]) {
    const named = parseAuthority(authority, HTTPS_PORT);
    if (named?.host !== host || named.port !== port) return "host mismatch";
  }
  const path = absolute === null ? url : absolute[2]!;
  const authority = formatAuthority({ host, port }, HTTPS_PORT);
  return { host, port, path: /^[/*]/.test(path) ? path : `/${path}`, authority, secure: true };
}

/** Reads the target of CONNECT. */
export function connectTarget({ url = "" }: IncomingMessage): Destination | string {
  return parseAuthority(url, HTTPS_PORT) ?? "missing host";
}

function target(scheme: "http" | "https", authority: string, path: string): HttpTarget | string {
  const secure = scheme === "https";
  const port = secure ? HTTPS_PORT : HTTP_PORT;
  const destination = parseAuthority(authority, port);
  if (destination === undefined) return "missing host";
  return { ...destination, path, authority: formatAuthority(destination, port), secure };
}
