import type { Socket } from "node:net";

/** Address of the other end. */
export function addressOf({ remoteAddress, remotePort = 0 }: Socket): string {
  // Peers of a Unix socket have no address.
  return remoteAddress === undefined ? "unix" : `${formatHost(remoteAddress)}:${remotePort}`;
}

export function formatHost(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
