import { isIP, isIPv4 } from "node:net";
import { UsageError } from "../../base/errors.ts";
import { socketPathOf } from "../../base/socket-url.ts";
import { inheritedListener } from "../../native/inherited-listener.ts";

/** A server's listen address. */
export type ListenAddress =
  | { readonly kind: "stdio" }
  /** Nowhere: clients come over a fleet. */
  | { readonly kind: "none" }
  | {
      readonly kind: "websocket";
      readonly host: string;
      readonly port: number;
      readonly isSecure: boolean;
      /** The socket, if another program listens there already and has passed it on. */
      readonly fd?: number;
    }
  | { readonly kind: "unix"; readonly path: string };

const MAX_PORT = 65_535;

/**
 * The address in a `listen` of `serve`, or a `--listen`. Throws a UsageError for any other text; `name` describes the
 * option in it.
 */
export function parseListenUrl(url: string, name = "listen URL"): ListenAddress {
  if (typeof url !== "string") throw new UsageError(`a ${name} must be text, not ${typeof url}`);
  if (url === "stdio" || url === "stdio://") return { kind: "stdio" };
  if (url === "none") return { kind: "none" };
  const path = socketPathOf(url, "unix");
  if (path !== undefined) return { kind: "unix", path };
  if (!/^wss?:\/\//.test(url))
    throw new UsageError(`unsupported ${name} \`${url}\`; expected \`ws://IP:PORT\` or \`stdio\``);
  const isSecure = url.startsWith("wss:");
  const [, descriptor] = /^wss?:\/\/fd:([0-9]{1,5})$/.exec(url) ?? [];
  if (descriptor !== undefined) {
    const fd = Number(descriptor);
    const listener = inheritedListener(fd);
    if (listener === undefined)
      throw new UsageError(
        `invalid websocket ${name} \`${url}\`; the program that starts the server must pass a TCP socket that listens as descriptor ${fd}`,
      );
    return { kind: "websocket", ...listener, isSecure, fd };
  }
  const {
    host = "",
    bracketed,
    port = "",
  } = /^wss?:\/\/(?:\[(?<bracketed>[^\]]*)\]|(?<host>[^:/[\]]*)):(?<port>[0-9]{1,5})$/.exec(url)?.groups ??
  {};
  const address = bracketed ?? host;
  const family = isIP(address);
  if (family === 0 || (family === 6) !== (bracketed !== undefined) || Number(port) > MAX_PORT)
    throw new UsageError(`invalid websocket ${name} \`${url}\`; expected \`ws://IP:PORT\``);
  return { kind: "websocket", host: address, port: Number(port), isSecure };
}

function isLoopback(host: string): boolean {
  return isIPv4(host) ? host.startsWith("127.") : host === "::1";
}

/** Whether other machines can reach it. */
export function isExposed(address: ListenAddress): boolean {
  return address.kind === "websocket" && !isLoopback(address.host);
}

/** Formats an address as `--listen` takes it. */
export function formatListenUrl(address: ListenAddress): string {
  switch (address.kind) {
    case "stdio":
      return "stdio";
    case "none":
      return "none";
    case "unix":
      return address.path;
    case "websocket": {
      const { host, port, isSecure } = address;
      return `${isSecure ? "wss" : "ws"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
    }
  }
}
