import { readlinkSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { inSlices } from "../process/slices.ts";
import { listDirectory, listPids, readProcFile } from "../../native/process-stat.ts";

/** The two ends of an accepted TCP connection. */
interface ConnectionEnds {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
}

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
  const plain = address.startsWith("::ffff:") ? address.slice("::ffff:".length) : address;
  if (plain.startsWith("127.") || plain === "::1") return true;
  return Object.values(networkInterfaces()).some((list) => list?.some((own) => own.address === plain));
}

/** By ports: the addresses of both ends may be written in several ways. */
function findSockets({ remotePort, localPort }: ConnectionEnds): { user: number; inode: string }[] {
  return ["net/tcp", "net/tcp6"].flatMap((table) =>
    (readProcFile(table) ?? "")
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(
        (fields) => portOf(fields[LOCAL] ?? "") === remotePort && portOf(fields[REMOTE] ?? "") === localPort,
      )
      .map((fields) => ({ user: Number(fields[USER]), inode: fields[INODE] ?? "0" })),
  );
}

function portOf(address: string): number {
  return Number.parseInt(address.slice(address.indexOf(":") + 1), 16);
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
