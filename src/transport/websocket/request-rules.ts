import type { IncomingMessage } from "node:http";
import type { Refusal } from "./http-refusal.ts";

/** Which requests a server accepts as its own, whatever they request. */
export interface RequestRules {
  /** Whether a Host names this server. Undefined for a Unix socket, which has no name. */
  readonly isOwnHost: ((host: string) => boolean) | undefined;
  /** Origins of pages that may connect. */
  readonly allowedOrigins: ReadonlySet<string>;
  /** Further origins of the server's own pages. Undefined if it has none. */
  readonly ownOrigins?: ReadonlySet<string> | undefined;
}

/**
 * Whether a request comes from a page of the server itself: its origin is the requested host, which is checked for
 * every request, or a configured one. A server without TLS may have a proxy with TLS in front of it.
 */
export function isOwnPage({ headers, socket }: IncomingMessage, { ownOrigins }: RequestRules): boolean {
  const { origin, host } = headers;
  if (ownOrigins === undefined || origin === undefined) return false;
  if (ownOrigins.has(origin)) return true;
  const isSecure = "encrypted" in socket;
  return host !== undefined && (origin === `https://${host}` || (!isSecure && origin === `http://${host}`));
}

/**
 * Why a request is refused, upgrade or not. Browsers send an Origin, and only listed pages may use this server, and its
 * own where `admitsOwnPages` says so.
 */
export function refuseRequest(
  request: IncomingMessage,
  rules: RequestRules,
  admitsOwnPages = false,
): Refusal | undefined {
  const hosts = request.headersDistinct["host"] ?? [];
  // A request without a host is a probe in HTTP/1.0; requests from pages always have one.
  if (rules.isOwnHost !== undefined && hosts.length > 0)
    if (hosts.length > 1 || !rules.isOwnHost(hosts[0]!)) return WRONG_HOST;
  const { origin } = request.headers;
  if (origin === undefined || rules.allowedOrigins.has(origin)) return undefined;
  if (admitsOwnPages && isOwnPage(request, rules)) return undefined;
  return { cause: "origin", status: 403, body: "" };
}

const WRONG_HOST: Refusal = {
  cause: "host",
  status: 421,
  body: "the host in the URL is not one of this server's: connect by its address, or start it with --public-url URL",
};
