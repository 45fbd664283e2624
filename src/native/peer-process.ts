import { check, libc } from "./libc.ts";

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** A `struct ucred`: process, user, group. */
const CREDENTIALS = 3;

/**
 * The process that has connected to a Unix socket, by the descriptor of the accepted end: 0 for one that this program
 * cannot see, such as outside of its container. By now, the number may be another's.
 */
export function peerProcess(fd: number): number {
  const credentials = new Int32Array(CREDENTIALS);
  const length = Uint32Array.of(credentials.byteLength);
  check(libc().getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, length));
  return credentials[0]!;
}
