import { canonicalIp } from "./ip-address.ts";
import { type Destination, parseHost } from "./destination.ts";

/** SOCKS 5 (RFC 1928), as far as a server without authentication needs it. */

const VERSION = 5;
const NO_AUTHENTICATION = 0;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;

export const SOCKS5_METHOD_CHOSEN = Uint8Array.of(VERSION, NO_AUTHENTICATION);
export const SOCKS5_NO_METHOD = Uint8Array.of(VERSION, 0xff);

export type Socks5Reply = "succeeded" | "notAllowed" | "refused" | "unknownCommand" | "unknownAddress";

const REPLY_CODES: Readonly<Record<Socks5Reply, number>> = {
  succeeded: 0,
  notAllowed: 2,
  refused: 5,
  unknownCommand: 7,
  unknownAddress: 8,
};

/** Bytes that are not SOCKS 5. */
export class Socks5Error extends Error {}

/** Length and contents of a complete message at the start of the bytes. */
interface Parsed<T> {
  readonly length: number;
  readonly value: T;
}

/** True if the client can do without authentication. Undefined if bytes are missing. */
export function parseGreeting(bytes: Uint8Array): Parsed<boolean> | undefined {
  checkVersion(bytes);
  if (bytes.length < 2) return undefined;
  const length = 2 + bytes[1]!;
  if (length === 2) throw new Socks5Error("the client offers no method");
  if (bytes.length < length) return undefined;
  return { length, value: bytes.subarray(2, length).includes(NO_AUTHENTICATION) };
}

/** The destination, or the reply to a request that cannot be served. Undefined if bytes are missing. */
export function parseRequest(bytes: Uint8Array): Parsed<Destination | Socks5Reply> | undefined {
  checkVersion(bytes);
  if (bytes.length >= 3 && bytes[2] !== 0) throw new Socks5Error("the reserved byte is set");
  if (bytes.length < 5) return undefined;
  const addressLength = { [IPV4]: 4, [NAME]: 1 + bytes[4]!, [IPV6]: 16 }[bytes[3]!];
  if (addressLength === undefined) return { length: bytes.length, value: "unknownAddress" };
  const end = 4 + addressLength;
  const length = end + 2;
  if (bytes.length < length) return undefined;
  if (bytes[1] !== CONNECT) return { length, value: "unknownCommand" };
  const host = readHost(bytes[3]!, bytes.subarray(4, end));
  const port = bytes[end]! * 256 + bytes[end + 1]!;
  if (host === undefined || port === 0) return { length, value: "unknownAddress" };
  return { length, value: { host, port } };
}

/** The proxy's own address on the outgoing connection is not disclosed. */
export function formatReply(reply: Socks5Reply): Uint8Array {
  return Uint8Array.of(VERSION, REPLY_CODES[reply], 0, IPV4, 0, 0, 0, 0, 0, 0);
}

function checkVersion(bytes: Uint8Array): void {
  if (bytes.length > 0 && bytes[0] !== VERSION) throw new Socks5Error("this is not SOCKS 5");
}

function readHost(type: number, address: Uint8Array): string | undefined {
  if (type === IPV4) return address.join(".");
  if (type === NAME) return parseHost(Buffer.from(address.subarray(1)).toString("latin1"));
  const groups = Array.from({ length: 8 }, (_, index) =>
    (address[index * 2]! * 256 + address[index * 2 + 1]!).toString(16),
  );
  return canonicalIp(groups.join(":"));
}
