import { readlinkSync } from "node:fs";
import { open } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { listDirectory, readProcFile } from "../../native/process-stat.ts";
import { resultOr } from "../../native/result-or.ts";

/** Fields of a line of /proc/net/tcp. */
const LOCAL = 1;
const STATE = 3;
const INODE = 9;
const LISTENING = "0A";

/** Of one table: more than a thousand sockets that listen. */
const MAX_TABLE_BYTES = 256 * 1024;
const READ_BYTES = 64 * 1024;
/** Programs open what they listen on early. */
const MAX_DESCRIPTORS = 4_096;

const ANY_IPV4 = "0".repeat(8);
const ANY_IPV6 = "0".repeat(32);
/** `::1`: words of an address are in the processor's order of bytes. */
const LOOPBACK_IPV6 = `${"0".repeat(24)}01000000`;
const MAPPED_IPV4 = `${"0".repeat(16)}FFFF0000`;

/** A TCP socket that listens on a loopback address, or on every address. */
export interface ListeningSocket {
  readonly port: number;
  /** Loopback address at which it is reached. */
  readonly host: string;
}

/** The sockets of this machine that could be reached over loopback when they were read, and whose they are. */
export class ListeningSockets {
  readonly #byLink: ReadonlyMap<string, ListeningSocket>;
  readonly #ofPid = new Map<number, readonly ListeningSocket[]>();

  constructor(byInode: ReadonlyMap<string, ListeningSocket>) {
    this.#byLink = new Map(Array.from(byInode, ([inode, socket]) => [`socket:[${inode}]`, socket]));
  }

  /** Those of one process. None if its descriptors cannot be read. */
  of(pid: number): readonly ListeningSocket[] {
    const known = this.#ofPid.get(pid);
    if (known !== undefined) return known;
    const sockets = this.#byLink.size === 0 ? [] : this.#find(pid);
    this.#ofPid.set(pid, sockets);
    return sockets;
  }

  #find(pid: number): readonly ListeningSocket[] {
    const directory = `/proc/${pid}/fd`;
    return listDirectory(directory)
      .slice(0, MAX_DESCRIPTORS)
      .flatMap((fd) => {
        // Undefined if it has been closed meanwhile.
        const link = resultOr(undefined, () => readlinkSync(`${directory}/${fd}`));
        return (link !== undefined && this.#byLink.get(link)) || [];
      });
  }
}

/** Reads which sockets listen on this machine. Throws without a free descriptor. */
export async function readListeningSockets(): Promise<ListeningSockets> {
  const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
    list?.some(({ address }) => address === "::1"),
  );
  const tables = await Promise.all([readTable("/proc/net/tcp"), readTable("/proc/net/tcp6")]);
  return new ListeningSockets(parseListening(tables.join(""), { hasIpv6 }));
}

/** The sockets in these tables that listen on loopback or every address, by inode. */
export function parseListening(
  tables: string,
  { hasIpv6 }: { readonly hasIpv6: boolean },
): Map<string, ListeningSocket> {
  const sockets = new Map<string, ListeningSocket>();
  for (const line of tables.split("\n")) {
    const fields = line.trim().split(/\s+/);
    const [address = "", port = ""] = (fields[LOCAL] ?? "").split(":");
    const inode = fields[INODE];
    if (fields[STATE] !== LISTENING || inode === undefined) continue;
    const host = loopbackHost(address, hasIpv6);
    if (host !== undefined) sockets.set(inode, { port: Number.parseInt(port, 16), host });
  }
  return sockets;
}

/** The name that the system has for a process; empty if it has ended. */
export function programName(pid: number): string {
  const name = readProcFile(`${pid}/comm`) ?? "";
  return Buffer.from(name, "latin1").toString("utf8").replace(/\n$/, "");
}

/** Undefined for an address that other machines reach, but loopback does not. */
function loopbackHost(address: string, hasIpv6: boolean): string | undefined {
  if (address.length === 8) return loopbackIpv4(address);
  if (address === LOOPBACK_IPV6) return "::1";
  // It also takes IPv4, unless it was told not to.
  if (address === ANY_IPV6) return hasIpv6 ? "::1" : "127.0.0.1";
  return address.startsWith(MAPPED_IPV4) ? loopbackIpv4(address.slice(MAPPED_IPV4.length)) : undefined;
}

function loopbackIpv4(word: string): string | undefined {
  if (word === ANY_IPV4) return "127.0.0.1";
  if (!word.endsWith("7F")) return undefined;
  return [6, 4, 2, 0].map((at) => Number.parseInt(word.slice(at, at + 2), 16)).join(".");
}

/** The lines of sockets that listen, which the kernel writes before all others. Empty if there is no such table. */
async function readTable(path: string): Promise<string> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return "";
  try {
    const buffer = Buffer.alloc(READ_BYTES);
    let text = "";
    while (text.length < MAX_TABLE_BYTES) {
      const { bytesRead } = await file.read(buffer, 0, READ_BYTES, null);
      if (bytesRead === 0) break;
      text += buffer.toString("latin1", 0, bytesRead);
      if (hasOthers(text)) break;
    }
    return text.endsWith("\n") ? text : `${text}\n`;
  } finally {
    await file.close();
  }
}

/** Whether the last complete line is one of a socket that does not listen. */
function hasOthers(text: string): boolean {
  const last = text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1) ?? "";
  const state = last.trim().split(/\s+/)[STATE];
  return state !== undefined && /^[0-9A-F]{2}$/.test(state) && state !== LISTENING;
}
