import { BlockList, isIP } from "node:net";

type Environment = Readonly<Record<string, string | undefined>>;

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
