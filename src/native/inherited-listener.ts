import { SocketAddress } from "node:net";
import { check, libc } from "./libc.ts";

const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;
const AF_INET = 2;
const AF_INET6 = 10;
/** Of a `struct sockaddr_in` and a `struct sockaddr_in6`. */
const PORT_AT = 2;
const ADDRESS_AT = { [AF_INET]: 4, [AF_INET6]: 8 } as const;
const SPACE = 128;

/** The address of a TCP socket on which another program listens already. Undefined if it is something else. */
export function inheritedListener(fd: number): { readonly host: string; readonly port: number } | undefined {
  const listens = new Int32Array(1);
  const address = Buffer.alloc(SPACE);
  try {
    check(libc().getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, listens, Uint32Array.of(listens.byteLength)));
    check(libc().getsockname(fd, address, Uint32Array.of(SPACE)));
  } catch {
    return undefined;
  }
  const family = address.readUInt16LE(0);
  if (listens[0] !== 1 || (family !== AF_INET && family !== AF_INET6)) return undefined;
  const at = ADDRESS_AT[family];
  const host =
    family === AF_INET
      ? address.subarray(at, at + 4).join(".")
      : // The shortest form.
        new SocketAddress({
          family: "ipv6",
          address: Array.from({ length: 8 }, (_, part) =>
            address.readUInt16BE(at + part * 2).toString(16),
          ).join(":"),
        }).address;
  return { host, port: address.readUInt16BE(PORT_AT) };
}
