import { CapabilityError } from "../base/errors.ts";
import { type Libc, libc } from "./libc.ts";

const AF_NETLINK = 16;
const SOCK_RAW_NONBLOCK_CLOEXEC = 3 | 0o4000 | 0o2000000;
const NETLINK_SOCK_DIAG = 4;
const SOCK_DIAG_BY_FAMILY = 20;
const NLM_F_REQUEST = 1;
const NLMSG_ERROR = 2;
const ENOENT = 2;
const AF_INET = 2;
const AF_INET6 = 10;
const TCP = 6;
const ALL_STATES = 0xffffffff;
const NO_COOKIE = 0xffffffffffffffffn;

/** Offsets in a `struct inet_diag_req_v2` after its `struct nlmsghdr`, and the length of both. */
const REQUEST = { family: 16, protocol: 17, states: 20, from: 24, to: 26, source: 28, destination: 44 };
const COOKIE = 64;
const REQUEST_BYTES = 72;
/** Offsets in a `struct inet_diag_msg` after its `struct nlmsghdr`. */
const ANSWER = { from: 20, to: 22, user: 80, inode: 84 };
const ANSWER_BYTES = 88;
const ERROR = 16;
/** More than the kernel says of a socket. */
const ANSWER_SPACE = 1024;

/** One end of a TCP connection, with addresses of 4 or 16 bytes. */
export interface SocketEnds {
  readonly address: readonly number[];
  readonly port: number;
  readonly peerAddress: readonly number[];
  readonly peerPort: number;
}

export interface SocketOwner {
  readonly user: number;
  readonly inode: number;
}

/** The socket to the kernel, kept open: every connection from this machine is a question. */
let kernel: number | undefined;

/**
 * Asks the kernel for one socket, at a cost that does not depend on how many there are; /proc would list them all. Null
 * if it does not exist; undefined if the kernel does not answer such questions here.
 */
export function diagnoseSocket(ends: SocketEnds): SocketOwner | null | undefined {
  const system = loadedLibc();
  if (system === undefined) return undefined;
  kernel ??= system.socket(AF_NETLINK, SOCK_RAW_NONBLOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  const answer = Buffer.alloc(ANSWER_SPACE);
  const isAsked = kernel >= 0 && system.write(kernel, requestFor(ends), REQUEST_BYTES) === REQUEST_BYTES;
  // The kernel has answered before it returned from the write.
  const length = isAsked ? system.read(kernel, answer, answer.length) : 0;
  if (length >= ERROR + 4) return ownerIn(answer.subarray(0, length), ends);
  // An answer that comes later would be taken for that to the next question.
  if (kernel >= 0) system.close(kernel);
  kernel = undefined;
  return undefined;
}

/** Clients may be installed without the library that calls C functions; /proc answers them. */
function loadedLibc(): Libc | undefined {
  try {
    return libc();
  } catch (error) {
    if (error instanceof CapabilityError) return undefined;
    throw error;
  }
}

function requestFor({ address, port, peerAddress, peerPort }: SocketEnds): Buffer {
  const request = Buffer.alloc(REQUEST_BYTES);
  request.writeUInt32LE(REQUEST_BYTES, 0);
  request.writeUInt16LE(SOCK_DIAG_BY_FAMILY, 4);
  request.writeUInt16LE(NLM_F_REQUEST, 6);
  request.writeUInt8(address.length === 4 ? AF_INET : AF_INET6, REQUEST.family);
  request.writeUInt8(TCP, REQUEST.protocol);
  request.writeUInt32LE(ALL_STATES, REQUEST.states);
  request.writeUInt16BE(port, REQUEST.from);
  request.writeUInt16BE(peerPort, REQUEST.to);
  request.set(address, REQUEST.source);
  request.set(peerAddress, REQUEST.destination);
  request.writeBigUInt64LE(NO_COOKIE, COOKIE);
  return request;
}

function ownerIn(answer: Buffer, { port, peerPort }: SocketEnds): SocketOwner | null | undefined {
  const type = answer.readUInt16LE(4);
  if (type === NLMSG_ERROR) return answer.readInt32LE(ERROR) === -ENOENT ? null : undefined;
  if (type !== SOCK_DIAG_BY_FAMILY || answer.length < ANSWER_BYTES) return undefined;
  // Without a connection, the kernel answers with a socket that listens on the port, if there is one.
  if (answer.readUInt16BE(ANSWER.from) !== port || answer.readUInt16BE(ANSWER.to) !== peerPort) return null;
  return { user: answer.readUInt32LE(ANSWER.user), inode: answer.readUInt32LE(ANSWER.inode) };
}
