import { CapabilityError } from "../../base/errors.ts";
import { type Header, urlCredentials } from "./header.ts";
import { findProxy } from "./proxy.ts";

/** How a request leaves the machine. */
export interface Route {
  /** Requests with the same key can share a connection. */
  readonly key: string;
  /** Peer of the connection: the server, or a proxy that gets the whole URL. */
  readonly end: URL;
  /** A proxy that provides a tunnel to `end`. */
  readonly tunnel?: URL;
  /** Request target. */
  readonly target: string;
  /** Headers for a proxy that reads the request. */
  readonly proxyHeaders: readonly Header[];
}

/** Finds the route to a URL. Throws if the environment requires an unsupported proxy. */
export function routeTo(url: URL, environment: Readonly<Record<string, string | undefined>>): Route {
  const target = url.pathname + url.search;
  const proxy = findProxy(url, environment);
  if (proxy === undefined) return { key: url.origin, end: url, target, proxyHeaders: [] };
  // Connecting directly would bypass the required proxy.
  if (proxy.protocol !== "http:" && proxy.protocol !== "https:")
    throw new CapabilityError(
      "UNSUPPORTED",
      `proxies of the kind ${proxy.protocol.slice(0, -1)} are not supported`,
    );
  if (url.protocol === "https:")
    return { key: `${proxy.href} ${url.origin}`, end: url, tunnel: proxy, target, proxyHeaders: [] };
  return {
    key: `${proxy.origin} `,
    end: proxy,
    target: `${url.origin}${target}`,
    proxyHeaders: proxyCredentials(proxy),
  };
}

export function proxyCredentials(proxy: URL): Header[] {
  const credentials = urlCredentials(proxy);
  return credentials === undefined ? [] : [["proxy-authorization", credentials]];
}
