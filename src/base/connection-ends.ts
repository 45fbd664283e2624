/** The two ends of an accepted TCP connection. */
export interface ConnectionEnds {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
}

/** Undefined for a Unix socket, and for a connection that its peer has reset. */
export function endsOf(
  socket: {
    readonly [Key in keyof ConnectionEnds]?: ConnectionEnds[Key] | undefined;
  },
): ConnectionEnds | undefined {
  const { remoteAddress, remotePort = 0, localAddress = "", localPort = 0 } = socket;
  return remoteAddress === undefined ? undefined : { remoteAddress, remotePort, localAddress, localPort };
}
