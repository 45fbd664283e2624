/** How to reach a fleet: the NATS servers, and what they require. Paths are read for every connection. */
export interface FleetAddress {
  /** `nats://HOST:PORT`, or `tls://HOST:PORT` for encrypted connections. Others of a cluster are found through them. */
  readonly servers: string | readonly string[];
  /** Path of a credentials file. */
  readonly credentials?: string;
  /** Path of a file with the seed of an nkey. */
  readonly nkey?: string;
  readonly user?: string;
  readonly password?: string;
  /** Path of the authorities that may have signed the certificate of a server. */
  readonly ca?: string;
  /** Path of the certificate of this program, for servers that require one, with `key`. */
  readonly cert?: string;
  readonly key?: string;
  /** Name below which a client receives, if NATS restricts it to one. Default: a random one. */
  readonly inbox?: string;
}
