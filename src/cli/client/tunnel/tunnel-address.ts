import { InvalidArgumentError } from "commander";
import { usageFailure } from "../../shared/failure.ts";

/** An address to listen on. */
export interface PortAddress {
  readonly bind: string;
  /** 0 picks one. */
  readonly port: number;
}

/** A Unix socket, by its absolute path. */
interface SocketAddress {
  readonly path: string;
}

/** Where a tunnel begins. */
export type ListenAddress = PortAddress | SocketAddress;

/** Where a tunnel ends, as seen from the machine that connects to it. */
export type TunnelTarget = { readonly host: string; readonly port: number } | SocketAddress;

export interface TunnelAddress {
  readonly listen: ListenAddress;
  readonly target: TunnelTarget;
}

const LOOPBACK = "127.0.0.1";
/** IPv6 addresses are in brackets, and a path has no colon. */
const PATTERN =
  /^(?:(?:(\[[0-9a-fA-F:.]{2,45}\]|[^:/[\]]{1,253}):)?(\d{1,5})|(\/[^:]+)):(?:(\[[0-9a-fA-F:.]{2,45}\]|[^:/[\]]{1,253}):(\d{1,5})|(\/[^:]+))$/;
const LISTEN_PATTERN = /^(?:(\[[0-9a-fA-F:.]{2,45}\]|[^:[\]]{1,253}):)?(\d{1,5})$/;
const MAX_PORT = 65_535;

/** Parses `LISTEN:TARGET`, as `ssh -L` and `ssh -R` take it. */
export function parseTunnelAddress(text: string): TunnelAddress {
  const match = PATTERN.exec(text);
  if (match === null)
    throw usageFailure(
      `'${text}' is not a tunnel; write [BIND:]PORT:HOST:PORT, such as 8080:localhost:80, with IPv6 addresses in brackets, and a Unix socket as its absolute path, such as 8080:/run/app.sock`,
    );
  const [, bind, listenPort, listenPath, host, port, path] = match;
  if (Number(listenPort ?? 0) > MAX_PORT || Number(port ?? 1) > MAX_PORT || Number(port ?? 1) === 0)
    throw usageFailure(
      `'${text}' has an invalid port; ports are 1 to 65535, and 0 picks a free one to listen on`,
    );
  return {
    listen:
      listenPath === undefined
        ? { bind: bind === undefined ? LOOPBACK : withoutBrackets(bind), port: Number(listenPort) }
        : { path: listenPath },
    target: path === undefined ? { host: withoutBrackets(host!), port: Number(port) } : { path },
  };
}

/** Parses `[BIND:]PORT`, as `ssh -D` takes it. */
export function parseListenAddress(text: string): PortAddress {
  const [, bind, port] = LISTEN_PATTERN.exec(text) ?? [];
  if (port === undefined || Number(port) > MAX_PORT)
    throw new InvalidArgumentError("Expected [BIND:]PORT, such as 1080, with an IPv6 address in brackets.");
  return { bind: bind === undefined ? LOOPBACK : withoutBrackets(bind), port: Number(port) };
}

/** An address and a port, as a URL writes them, or a path. */
export function shownAddress(
  address: TunnelTarget | ListenAddress | { readonly address: string; readonly port: number },
): string {
  if ("path" in address) return address.path;
  const host = "bind" in address ? address.bind : "host" in address ? address.host : address.address;
  return host.includes(":") ? `[${host}]:${address.port}` : `${host}:${address.port}`;
}

function withoutBrackets(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host;
}
