import type { Server, Socket } from "node:net";
import { check, libc } from "./libc.ts";

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** A `struct ucred`: process, user, group. */
const CREDENTIALS = 3;

/** The program at the other end of a Unix socket. */
export interface PeerProcess {
  /** 0 for one that this program cannot see, such as outside of its container. By now, it may be another's. */
  readonly pid: number;
  readonly uid: number;
}

/**
 * The process that has connected to a Unix socket, by the descriptor of the accepted end, or that listens, by that of
 * the other end.
 */
export function peerProcess(fd: number): PeerProcess {
  const credentials = new Int32Array(CREDENTIALS);
  const length = Uint32Array.of(credentials.byteLength);
  check(libc().getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, length));
  const [pid = 0, uid = 0] = credentials;
  return { pid, uid: uid >>> 0 };
}

/** The descriptor of one of Node's sockets, which does not give it away otherwise. Throws if it is closed. */
export function descriptorOf(socket: Server | Socket): number {
  const { _handle: handle } = socket as { _handle?: { readonly fd?: number } | null };
  if (handle?.fd === undefined || handle.fd < 0) throw new Error("the socket is closed");
  return handle.fd;
}
