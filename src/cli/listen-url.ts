import { isIP, isIPv4 } from "node:net";
import { failure } from "./cli-error.ts";

export type ListenAddress =
  | { readonly kind: "stdio" }
  | { readonly kind: "websocket"; readonly host: string; readonly port: number };

const MAX_PORT = 65_535;

export function parseListenUrl(url: string): ListenAddress {
  if (url === "stdio" || url === "stdio://") return { kind: "stdio" };
  if (!url.startsWith("ws://"))
    throw failure(`unsupported --listen URL \`${url}\`; expected \`ws://IP:PORT\` or \`stdio\``);
  const {
    host = "",
    bracketed,
    port = "",
  } = /^ws:\/\/(?:\[(?<bracketed>[^\]]*)\]|(?<host>[^:/[\]]*)):(?<port>[0-9]{1,5})$/.exec(url)?.groups ?? {};
  const address = bracketed ?? host;
  const family = isIP(address);
  if (family === 0 || (family === 6) !== (bracketed !== undefined) || Number(port) > MAX_PORT)
    throw failure(`invalid websocket --listen URL \`${url}\`; expected \`ws://IP:PORT\``);
  return { kind: "websocket", host: address, port: Number(port) };
}

export function isLoopback(host: string): boolean {
  return isIPv4(host) ? host.startsWith("127.") : host === "::1";
}

/** Formats an address as `--listen` takes it. */
export function formatListenUrl(host: string, port: number): string {
  return `ws://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
