import { isIP, isIPv4, SocketAddress } from "node:net";

/** Addresses that stand for every address of the machine. */
const WILDCARDS = new Set(["0.0.0.0", "::"]);

export interface OwnHostsOptions {
  /** The address it listens on. Undefined if that is not known: then every address counts. */
  readonly address: string | undefined;
  /** Other names and addresses of the server. */
  readonly names: readonly string[];
}

/**
 * Returns a function that checks whether the Host of a request names this server. A page whose name was made to resolve
 * to this machine sends that name, so it is refused. Ports are not compared, because they change when they are
 * forwarded. An address cannot be made to point elsewhere, so every address counts if the server listens on all of
 * them.
 */
export function ownHosts({ address, names }: OwnHostsOptions): (host: string) => boolean {
  const everyAddress = address === undefined || WILDCARDS.has(address);
  const known = new Set(["localhost", ...names.map(plainHost)]);
  if (address !== undefined) known.add(plainHost(address));
  return (header) => {
    const host = hostOf(header);
    if (host === undefined) return false;
    if (known.has(host)) return true;
    return isIP(host) !== 0 && (everyAddress || isLoopback(host));
  };
}

/** The host of a Host header, without its port. Undefined for anything that no honest client sends. */
export function hostOf(header: string): string | undefined {
  const { bracketed, name } =
    /^(?:\[(?<bracketed>[0-9a-f:.]{2,45})\]|(?<name>[a-z0-9_.-]{1,255}))(?::[0-9]{0,5})?$/i.exec(header)
      ?.groups ?? {};
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? plainHost(bracketed) : undefined;
  return name === undefined ? undefined : plainHost(name);
}

/** The canonical form of a name or address. */
function plainHost(host: string): string {
  // Node compiles its pattern of such addresses, which takes a millisecond or more, when it first looks for one.
  if (host.includes(":") && isIP(host) === 6)
    return new SocketAddress({ address: host, family: "ipv6" }).address;
  return host.toLowerCase().replace(/\.$/, "");
}

function isLoopback(host: string): boolean {
  return isIPv4(host) ? host.startsWith("127.") : host === "::1" || host.startsWith("::ffff:127.");
}
