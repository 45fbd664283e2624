import type { Socket } from "node:net";

/** Of every listening server. A half-open peer is detected after about 15 s, so that its session can be resumed. */
export const TCP_OPTIONS = { keepAlive: true, keepAliveInitialDelay: 15_000, noDelay: true } as const;

/** The address of a peer, as URLs write it. Peers of a Unix socket have none, nor has one that has reset its connection. */
export function addressOf({ remoteAddress, remotePort = 0, localAddress }: Socket): string {
  if (remoteAddress !== undefined) return `${formatHost(remoteAddress)}:${remotePort}`;
  return localAddress === undefined ? "unix" : "unknown";
}

export function formatHost(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
