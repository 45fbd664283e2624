import { canonicalIp } from "./ip-address.ts";

/** A host and a port that a process wants to reach. */
export interface Destination {
  /** A name in lower case without a final dot, or a canonical address without brackets. */
  readonly host: string;
  readonly port: number;
}

export const MAX_HOST_LENGTH = 253;

/** Undefined if no name or address can be spelled like this. */
export function parseHost(text: string): string | undefined {
  if (text === "" || text.length > MAX_HOST_LENGTH + 1) return undefined;
  const bracketed = /^\[([^[\]]*)\]$/.exec(text);
  if (bracketed !== null) {
    const ip = canonicalIp(bracketed[1]!);
    return ip?.includes(":") === true ? ip : undefined;
  }
  const name = text.toLowerCase().replace(/\.$/, "");
  if (name.includes(":")) return canonicalIp(name);
  const isName =
    name.length <= MAX_HOST_LENGTH && name.split(".").every((label) => /^[a-z0-9_-]+$/.test(label));
  return isName ? name : undefined;
}

/** `host`, `host:port`, `[v6]:port`; credentials before an `@` are dropped. Undefined for anything else. */
export function parseAuthority(text: string, defaultPort: number): Destination | undefined {
  const authority = text.slice(text.lastIndexOf("@") + 1);
  const parts = /^(\[[^[\]]*\]|[^:[\]]*)(?::(\d{0,5}))?$/.exec(authority);
  if (parts === null) return undefined;
  const host = parseHost(parts[1]!);
  const port = parts[2] === undefined || parts[2] === "" ? defaultPort : Number(parts[2]);
  return host === undefined || port > 65_535 || port === 0 ? undefined : { host, port };
}

/** In the form used in a URL or a `Host` header. */
export function formatAuthority({ host, port }: Destination, defaultPort: number): string {
  const shown = host.includes(":") ? `[${host}]` : host;
  return port === defaultPort ? shown : `${shown}:${port}`;
}
