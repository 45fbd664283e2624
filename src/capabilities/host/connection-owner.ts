import { readlinkSync } from "node:fs";
import { isIPv4, isIPv6, type Socket, SocketAddress } from "node:net";
import { networkInterfaces } from "node:os";
import { type ConnectionEnds, endsOf } from "../../base/connection-ends.ts";
import { resultOr } from "../../native/result-or.ts";
import { diagnoseSocket, type SocketOwner } from "../../native/socket-diagnosis.ts";
import { inSlices } from "../process/slices.ts";
import { listDirectory, listPids, readProcFile } from "../../native/process-stat.ts";

/** Fields of a line of /proc/net/tcp. */
const USER = 7;
const INODE = 9;

/**
 * Whether a process in this server's own process namespace holds the other end of a connection from this machine, or one
 * of a user none of whose processes this server has started. False for a peer that has already closed its end, or hides
 * it: what it sent could still be read. Always true for connections from other machines.
 */
export async function isHeldOutside(
  ends: ConnectionEnds,
  users: ReadonlySet<number | undefined> = new Set([process.geteuid?.()]),
): Promise<boolean> {
  if (!isOwnAddress(ends.remoteAddress)) return true;
  const sockets = findSockets(ends);
  if (sockets.some(({ user }) => !users.has(user))) return true;
  const links = new Set(sockets.map(({ inode }) => `socket:[${inode}]`));
  if (links.size === 0) return false;
  const own = namespaceOf("self");
  let isHeld = false;
  await inSlices(listPids(), (pid) => {
    isHeld ||= holdsAny(pid, links) && namespaceOf(pid) === own;
  });
  return isHeld;
}

/**
 * Whether a process runs in a sandbox of these programs, which are this one's own: it descends from one of them, in a
 * process namespace below its own.
 * Containers of others do not. A process that has already ended can no longer be located, so it counts as inside.
 */
export function isInOwnSandbox(pid: number, programs: readonly number[] = [process.pid]): boolean {
  const status = statusOf(pid);
  if (status === undefined) return true;
  if (status.depth <= (statusOf(process.pid)?.depth ?? 0)) return false;
  for (let at = status; at.parent > 0; ) {
    if (programs.includes(at.parent)) return true;
    const parent = statusOf(at.parent);
    if (parent === undefined) return true;
    at = parent;
  }
  return false;
}

/** Whether a process is in a namespace below this one's, as everything in sandboxes is. So is one that cannot be seen. */
export function isBelow(pid: number): boolean {
  const status = statusOf(pid);
  return status === undefined || status.depth > (statusOf(process.pid)?.depth ?? 0);
}

/** Anybody may read this of any process, other than the links in /proc/PID/ns. */
function statusOf(pid: number): { readonly parent: number; readonly depth: number } | undefined {
  const text = readProcFile(`${pid}/status`);
  const [, parent] = /^PPid:\t(\d+)$/m.exec(text ?? "") ?? [];
  const [, numbers] = /^NSpid:\t(.+)$/m.exec(text ?? "") ?? [];
  if (parent === undefined || numbers === undefined) return undefined;
  return { parent: Number(parent), depth: numbers.split("\t").length };
}

/**
 * Whether this program's user, or root, who could do everything anyway, opened the other end of a connection on this
 * machine. False if it is closed or its user cannot be found.
 */
export function isOwnUsers(ends: ConnectionEnds): boolean {
  const owner = ownerOf(ends);
  return owner !== undefined && (owner === process.geteuid?.() || owner === 0);
}

/**
 * Whether an accepted connection from this machine is another user's than this program's and root's. Only on Linux can
 * its owner be found; elsewhere none is.
 */
export function isForeign(accepted: Socket): boolean {
  const ends = endsOf(accepted);
  return process.platform === "linux" && (ends === undefined || !isOwnUsers(ends));
}

/** The user who opened the other end of a connection on this machine; undefined if it is closed or cannot be found. */
export function ownerOf(ends: ConnectionEnds): number | undefined {
  const users = new Set(findSockets(ends).map(({ user }) => user));
  return users.size === 1 ? [...users][0] : undefined;
}

function isOwnAddress(address: string): boolean {
  const plain = plainAddress(address);
  if (plain.startsWith("127.") || plain === "::1") return true;
  return Object.values(networkInterfaces()).some((list) =>
    list?.some((own) => plainAddress(own.address) === plain),
  );
}

/**
 * Open sockets of the other end, whose local address is the remote one here. The kernel reports a closed one as root's,
 * without an inode.
 */
function findSockets(ends: ConnectionEnds): { user: number; inode: string }[] {
  const asked = askKernel(ends);
  if (asked !== undefined)
    return asked === null || asked.inode === 0 ? [] : [{ ...asked, inode: `${asked.inode}` }];
  // A connection is in one table only, and the kernel takes milliseconds for each.
  const sockets = findIn("net/tcp", ends, ipv4Words);
  return sockets.length > 0 ? sockets : findIn("net/tcp6", ends, ipv6Words);
}

/** Undefined if the kernel cannot be asked, or cannot tell: a link-local address may exist on several links. */
function askKernel(ends: ConnectionEnds): SocketOwner | null | undefined {
  if (ends.remoteAddress.includes("%") || ends.localAddress.includes("%")) return undefined;
  const [address, peerAddress] = [ends.remoteAddress, ends.localAddress].map((text) =>
    bytesOf(plainAddress(text)),
  );
  if (address?.length !== peerAddress?.length) return undefined;
  return diagnoseSocket({
    address: address!,
    port: ends.remotePort,
    peerAddress: peerAddress!,
    peerPort: ends.localPort,
  });
}

function bytesOf(address: string): number[] {
  return isIPv4(address) ? address.split(".").map(Number) : ipv6Bytes(address);
}

/** The tables can be long, so they are searched as text. */
function findIn(
  table: string,
  ends: ConnectionEnds,
  words: (address: string) => string | undefined,
): { user: number; inode: string }[] {
  const theirs = words(plainAddress(ends.remoteAddress));
  const ours = words(plainAddress(ends.localAddress));
  if (theirs === undefined || ours === undefined) return [];
  const wanted = ` ${theirs}:${hexPort(ends.remotePort)} ${ours}:${hexPort(ends.localPort)} `;
  return linesWith(readProcFile(table) ?? "", wanted)
    .map((line) => line.trim().split(/\s+/))
    .map((fields) => ({ user: Number(fields[USER]), inode: fields[INODE] ?? "0" }))
    .filter(({ inode }) => inode !== "0");
}

function linesWith(text: string, wanted: string): string[] {
  const lines: string[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const end = text.indexOf("\n", at);
    lines.push(text.slice(text.lastIndexOf("\n", at) + 1, end < 0 ? undefined : end));
  }
  return lines;
}

function hexPort(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

/** `0100007F` is 127.0.0.1: words of an address are in the processor's order of bytes. Undefined for IPv6. */
function ipv4Words(address: string): string | undefined {
  if (!isIPv4(address)) return undefined;
  return hexBytes(address.split(".").map(Number).reverse());
}

/** The same for IPv6, where an IPv4 address is a mapped one. */
function ipv6Words(address: string): string | undefined {
  const mapped = ipv4Words(address);
  if (mapped !== undefined) return `${"0".repeat(16)}FFFF0000${mapped}`;
  const bytes = ipv6Bytes(address);
  return [0, 4, 8, 12].map((at) => hexBytes(bytes.slice(at, at + 4).reverse())).join("");
}

function ipv6Bytes(address: string): number[] {
  const [head = "", tail] = address.split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const before = groups(head);
  const after = groups(tail ?? "");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after]
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 0xff]);
}

function hexBytes(bytes: readonly number[]): string {
  return bytes.map((byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join("");
}

/** The same address can be written in several ways. */
function plainAddress(address: string): string {
  if (!address.includes(":")) return address;
  const [bare = ""] = address.split("%");
  if (!isIPv6(bare)) return bare;
  const { address: short } = new SocketAddress({ address: bare, family: "ipv6" });
  return short.startsWith("::ffff:") && short.includes(".") ? short.slice("::ffff:".length) : short;
}

function holdsAny(pid: number, links: ReadonlySet<string>): boolean {
  return listDirectory(`/proc/${pid}/fd`).some((fd) => {
    const link = readLink(`/proc/${pid}/fd/${fd}`);
    return link !== undefined && links.has(link);
  });
}

function namespaceOf(pid: number | "self"): string | undefined {
  return readLink(`/proc/${pid}/ns/pid`);
}

function readLink(path: string): string | undefined {
  return resultOr(undefined, () => readlinkSync(path));
}
