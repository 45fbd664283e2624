import { readFileSync } from "node:fs";
import { UsageError } from "../../base/errors.ts";
import type { ClientTlsMaterial } from "../../transport/websocket/connect-websocket.ts";

/**
 * Certificates for `wss://` and `relay+https://`. Each is a path, whose file is read for every connection, or PEM text,
 * which starts with `-----BEGIN`.
 */
export interface ClientTls {
  /** Authorities that may have signed the server's certificate. Default: Node's own list. */
  readonly ca?: string;
  /** Certificate of this client, for servers that require one, with `key`. */
  readonly cert?: string;
  /** Private key of `cert`, without a passphrase. */
  readonly key?: string;
}

/** Throws a UsageError for options that make no sense together. */
export function checkClientTls(url: string, { ca, cert, key }: ClientTls): void {
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError("a client certificate needs both `cert` and `key`");
  if ((ca ?? cert) !== undefined && !/^wss:/i.test(url))
    throw new UsageError("`ca`, `cert` and `key` need a URL with wss:// or relay+https://");
}

/** Reads the files. Throws a UsageError if one cannot be read. */
export function readClientTls({ ca, cert, key }: ClientTls): ClientTlsMaterial {
  return {
    ...(ca === undefined ? {} : { ca: readPem("ca", ca) }),
    ...(cert === undefined ? {} : { cert: readPem("cert", cert) }),
    ...(key === undefined ? {} : { key: readPem("key", key) }),
  };
}

function readPem(name: string, value: string): string {
  if (value.trimStart().startsWith("-----BEGIN")) return value;
  let text: string;
  try {
    text = readFileSync(value, "utf8");
  } catch (error) {
    throw new UsageError(`cannot read \`${name}\` in ${value}: ${(error as Error).message}`);
  }
  if (text.includes("-----BEGIN")) return text;
  throw new UsageError(`\`${name}\` in ${value} is not a PEM file`);
}
