import { InvalidArgumentError } from "commander";
import { usageFailure } from "../../shared/failure.ts";

/** Where a tunnel listens on this machine. */
export interface ListenAddress {
  readonly bind: string;
  /** 0 picks one. */
  readonly localPort: number;
}

/** As seen from the server's machine. */
export interface TunnelTarget {
  readonly host: string;
  readonly port: number;
}

export interface TunnelAddress extends ListenAddress {
  readonly target: TunnelTarget;
}

const LOOPBACK = "127.0.0.1";
/** IPv6 addresses are in brackets. */
const PATTERN =
  /^(?:(\[[0-9a-fA-F:.]{2,45}\]|[^:[\]]{1,253}):)?(\d{1,5}):(\[[0-9a-fA-F:.]{2,45}\]|[^:[\]]{1,253}):(\d{1,5})$/;
const LISTEN_PATTERN = /^(?:(\[[0-9a-fA-F:.]{2,45}\]|[^:[\]]{1,253}):)?(\d{1,5})$/;
const MAX_PORT = 65_535;

/** Parses `[BIND:]PORT:HOST:PORT`, as `ssh -L` takes it. */
export function parseTunnelAddress(text: string): TunnelAddress {
  const [, bind, localPort, host, port] = PATTERN.exec(text) ?? [];
  if (localPort === undefined || host === undefined || port === undefined)
    throw usageFailure(
      `'${text}' is not a tunnel; write [BIND:]PORT:HOST:PORT, such as 8080:localhost:80, with IPv6 addresses in brackets`,
    );
  if (Number(localPort) > MAX_PORT || Number(port) > MAX_PORT || Number(port) === 0)
    throw usageFailure(`'${text}' has an invalid port; ports are 1 to 65535, and 0 here picks a free one`);
  return {
    bind: bind === undefined ? LOOPBACK : withoutBrackets(bind),
    localPort: Number(localPort),
    target: { host: withoutBrackets(host), port: Number(port) },
  };
}

/** Parses `[BIND:]PORT`, as `ssh -D` takes it. */
export function parseListenAddress(text: string): ListenAddress {
  const [, bind, port] = LISTEN_PATTERN.exec(text) ?? [];
  if (port === undefined || Number(port) > MAX_PORT)
    throw new InvalidArgumentError("Expected [BIND:]PORT, such as 1080, with an IPv6 address in brackets.");
  return { bind: bind === undefined ? LOOPBACK : withoutBrackets(bind), localPort: Number(port) };
}

/** An address and a port, as a URL writes them. */
export function shownAddress(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function withoutBrackets(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host;
}
