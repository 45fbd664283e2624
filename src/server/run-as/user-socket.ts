import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CapabilityError, messageOf } from "../../base/errors.ts";
import { descriptorOf } from "../../native/peer-process.ts";
import { duplicate } from "../../native/spawn.ts";
import { bindUnixSocket } from "../../transport/websocket/unix-socket.ts";

const O_PATH = 0o1000_0000;
/** The system shortens it to its own limit. Without room, connecting fails at once. */
const BACKLOG = 4_096;

/** What to connect to. */
export interface UserSocket {
  readonly path: string;
  close(): void;
}

/** A Unix socket on which another program will listen. */
export interface OpenedSocket extends UserSocket {
  /** For that program. Belongs to the caller. */
  readonly listener: number;
}

/**
 * Opens a socket that has no name: its directory is removed before anything is served, and only this program holds what
 * one can connect to. Rejects with a CapabilityError.
 */
export async function openUnnamedSocket(): Promise<OpenedSocket> {
  try {
    const directory = makeDirectory();
    try {
      return await listenIn(directory);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  } catch (cause) {
    throw new CapabilityError("OS_ERROR", `no socket can be opened: ${messageOf(cause)}`, { cause });
  }
}

/** Opens a socket with a name, which stays. Throws a UsageError or a ConnectionError if it cannot be there. */
export async function openNamedSocket(path: string): Promise<number> {
  const server = createServer();
  try {
    await bindUnixSocket(server, path, BACKLOG);
    return duplicate(descriptorOf(server));
  } finally {
    server.close();
  }
}

/** Short paths first: that of a socket may have about a hundred bytes. */
function makeDirectory(): string {
  try {
    return mkdtempSync("/run/exec-server-");
  } catch {
    return mkdtempSync(join(tmpdir(), "exec-server-"));
  }
}

async function listenIn(directory: string): Promise<OpenedSocket> {
  const path = join(directory, "s");
  const server = createServer();
  try {
    server.listen({ path, exclusive: true, backlog: BACKLOG });
    await once(server, "listening");
    const held = openSync(path, O_PATH | constants.O_NOFOLLOW);
    try {
      const listener = duplicate(descriptorOf(server));
      return { listener, path: `/proc/self/fd/${held}`, close: () => closeSync(held) };
    } catch (error) {
      closeSync(held);
      throw error;
    }
  } finally {
    // Node removes the path, too, which is still this program's own.
    server.close();
  }
}
