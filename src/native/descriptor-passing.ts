import { closeSync } from "node:fs";
import { CapabilityError } from "../base/errors.ts";
import { check, libc } from "./libc.ts";
import { ERRNO, osError } from "./os-error.ts";

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const MSG_DONTWAIT = 0x40;
const MSG_CMSG_CLOEXEC = 0x4000_0000;
/** Length, level and type before the descriptors of a control message. */
const CONTROL_HEADER_BYTES = 16;
const DESCRIPTOR_BYTES = 4;
/** Pauses between looks for the message. Node can wait for data on a socket, but then drops the descriptors. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 16;

/** A connected pair of sockets; the second is for a child. */
export function openSocketPair(): { own: number; childs: number } {
  const ends = new Int32Array(2);
  check(libc().socketPair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
  const [own = -1, childs = -1] = ends;
  return { own, childs };
}

/**
 * Waits for one message with that many descriptors, which belong to the caller. Rejects with a CapabilityError if the
 * other side closes without one, or is late. The caller closes the socket.
 */
export async function receiveDescriptors(
  socket: number,
  count: number,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<number[]> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    if (signal.aborted) throw failed("the wait was ended");
    const received = receiveNow(socket, count);
    if (received !== undefined) return received;
    if (performance.now() > deadline) throw failed("it took too long");
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Undefined if nothing has come yet. */
function receiveNow(socket: number, count: number): number[] | undefined {
  const byte = Buffer.alloc(1);
  const control = Buffer.alloc(CONTROL_HEADER_BYTES + align(count * DESCRIPTOR_BYTES));
  const length = libc().receiveMessage(socket, byte, control, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (length < 0) {
    const errno = libc().errno();
    if (errno === ERRNO.EAGAIN || errno === ERRNO.EINTR) return undefined;
    throw osError(errno);
  }
  const descriptors = length === 0 ? [] : readDescriptors(control);
  if (descriptors.length === count) return descriptors;
  for (const fd of descriptors) closeSync(fd);
  throw failed(length === 0 ? "the other side has closed" : `${descriptors.length} came`);
}

function readDescriptors(control: Buffer): number[] {
  const length = Number(control.readBigUInt64LE(0));
  const isRights = control.readInt32LE(8) === SOL_SOCKET && control.readInt32LE(12) === SCM_RIGHTS;
  if (!isRights || length > control.length) return [];
  const count = Math.floor((length - CONTROL_HEADER_BYTES) / DESCRIPTOR_BYTES);
  return Array.from({ length: count }, (_, index) =>
    control.readInt32LE(CONTROL_HEADER_BYTES + index * DESCRIPTOR_BYTES),
  );
}

function align(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

function failed(why: string): CapabilityError {
  return new CapabilityError("OS_ERROR", `descriptors were expected, but ${why}`);
}
