import { BlockList, isIP } from "node:net";
import { CapabilityError } from "../../base/errors.ts";
import { type Header, urlCredentials } from "./header.ts";

type Environment = Readonly<Record<string, string | undefined>>;

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
export function routeTo(url: URL, environment: Environment): Route {
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

/** The proxy for a URL from the usual environment variables; undefined for a direct connection. */
export function findProxy(url: URL, environment: Environment): URL | undefined {
  const value = url.protocol === "https:" ? variable(environment, "HTTPS_PROXY") : httpProxy(environment);
  const proxy = parseProxy(value ?? variable(environment, "ALL_PROXY"));
  return proxy === undefined || isException(url, variable(environment, "NO_PROXY") ?? "") ? undefined : proxy;
}

/** A CGI program gets the client's `Proxy` header as HTTP_PROXY, so it must be ignored there. */
function httpProxy(environment: Environment): string | undefined {
  return environment["REQUEST_METHOD"] === undefined ? variable(environment, "HTTP_PROXY") : undefined;
}

function variable(environment: Environment, name: string): string | undefined {
  return environment[name] ?? environment[name.toLowerCase()];
}

function parseProxy(value: string | undefined): URL | undefined {
  if (value === undefined || value === "") return undefined;
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  return URL.canParse(text) ? new URL(text) : undefined;
}

function isException(url: URL, list: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const entries = list.split(",").map((entry) => entry.trim().toLowerCase());
  return entries.some(
    (entry) => entry === "*" || (isIP(host) === 0 ? coversName(entry, host) : coversAddress(entry, host)),
  );
}

function coversName(entry: string, host: string): boolean {
  const domain = entry.replace(/^\./, "");
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

function coversAddress(entry: string, host: string): boolean {
  const [network = "", bits] = entry.split("/");
  const version = isIP(network);
  if (version === 0 || version !== isIP(host)) return false;
  if (bits === undefined) return network === host;
  const most = version === 4 ? 32 : 128;
  if (!/^[0-9]{1,3}$/.test(bits) || Number(bits) > most) return false;
  const family = version === 4 ? "ipv4" : "ipv6";
  const block = new BlockList();
  block.addSubnet(network, Number(bits), family);
  return block.check(host, family);
}
