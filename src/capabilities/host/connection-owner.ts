import { readlinkSync } from "node:fs";
import { isIPv6, SocketAddress } from "node:net";
import { networkInterfaces } from "node:os";
import type { ConnectionEnds } from "../../base/connection-ends.ts";
import { inSlices } from "../process/slices.ts";
import { listDirectory, listPids, readProcFile } from "../../native/process-stat.ts";

/** Fields of a line of /proc/net/tcp. */
const LOCAL = 1;
const REMOTE = 2;
const USER = 7;
const INODE = 9;

/**
 * Tells whether a process in this server's own process namespace, or another user's, holds the other end of a
 * connection from this machine. A peer that has already closed its end, or keeps it where nobody can see it, is none of
 * these: what it sent could still be read. Connections from other machines are always true.
 */
export async function isHeldOutside(ends: ConnectionEnds): Promise<boolean> {
  if (!isOwnAddress(ends.remoteAddress)) return true;
  const sockets = findSockets(ends);
  const user = process.geteuid?.();
  if (sockets.some((socket) => socket.user !== user)) return true;
  const links = new Set(sockets.filter(({ inode }) => inode !== "0").map(({ inode }) => `socket:[${inode}]`));
  if (links.size === 0) return false;
  const own = namespaceOf("self");
  let found = false;
  await inSlices(listPids(), (pid) => {
    found ||= holdsAny(pid, links) && namespaceOf(pid) === own;
  });
  return found;
}

function isOwnAddress(address: string): boolean {
  const plain = plainAddress(address);
  if (plain.startsWith("127.") || plain === "::1") return true;
  return Object.values(networkInterfaces()).some((list) =>
    list?.some((own) => plainAddress(own.address) === plain),
  );
}

/** Sockets of the other end, whose own end is the remote one here. */
function findSockets(ends: ConnectionEnds): { user: number; inode: string }[] {
  const theirs = `${plainAddress(ends.remoteAddress)} ${ends.remotePort}`;
  const ours = `${plainAddress(ends.localAddress)} ${ends.localPort}`;
  return ["net/tcp", "net/tcp6"].flatMap((table) =>
    (readProcFile(table) ?? "")
      .split("\n")
      .slice(1, -1)
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => endOf(fields[LOCAL]) === theirs && endOf(fields[REMOTE]) === ours)
      .map((fields) => ({ user: Number(fields[USER]), inode: fields[INODE] ?? "0" })),
  );
}

/** `0100007F:1F90` is port 8080 of 127.0.0.1: words of an address are in the processor's order of bytes. */
function endOf(text = ""): string {
  const [address = "", port = ""] = text.split(":");
  const words = address.match(/.{8}/g) ?? [];
  const bytes = words
    .flatMap((word) => (word.match(/../g) ?? []).reverse())
    .map((byte) => parseInt(byte, 16));
  const shown =
    bytes.length === 4
      ? bytes.join(".")
      : pairs(bytes)
          .map((pair) => pair.toString(16))
          .join(":");
  return `${plainAddress(shown)} ${parseInt(port, 16)}`;
}

function pairs(bytes: readonly number[]): number[] {
  return bytes.flatMap((byte, index) => (index % 2 === 0 ? [byte * 256 + bytes[index + 1]!] : []));
}

/** One address can be written in several ways. */
function plainAddress(address: string): string {
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
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
