import type { IncomingMessage } from "node:http";
import type { Refusal } from "./http-refusal.ts";

/** Which requests a server takes as its own, whatever they ask for. */
export interface RequestRules {
  /** Whether a Host names this server. Undefined for a Unix socket, which has no name. */
  readonly isOwnHost: ((host: string) => boolean) | undefined;
  /** Origins of pages that may connect. */
  readonly allowedOrigins: ReadonlySet<string>;
}

/** Why a request is refused, upgrade or not. Browsers send an Origin, and only listed pages may use this server. */
export function refuseRequest(request: IncomingMessage, rules: RequestRules): Refusal | undefined {
  const hosts = request.headersDistinct["host"] ?? [];
  // Without a host it is a probe in HTTP/1.0; every page has one.
  if (rules.isOwnHost !== undefined && hosts.length > 0)
    if (hosts.length > 1 || !rules.isOwnHost(hosts[0]!)) return WRONG_HOST;
  const { origin } = request.headers;
  if (origin !== undefined && !rules.allowedOrigins.has(origin))
    return { cause: "origin", status: 403, body: "" };
  return undefined;
}

const WRONG_HOST: Refusal = {
  cause: "host",
  status: 421,
  body: "the host in the URL is not one of this server's: connect by its address, or start it with --public-url URL",
};
