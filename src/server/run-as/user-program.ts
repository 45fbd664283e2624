import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { connect } from "node:net";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CapabilityError } from "../../base/errors.ts";
import { descriptorOf, peerProcess } from "../../native/peer-process.ts";
import { withholdInheritedDescriptors } from "../../native/spawn.ts";
import type { DurableDirectory } from "../durable/durable-directory.ts";
import { openNamedSocket, openUnnamedSocket, type UserSocket } from "./user-socket.ts";

const MAX_STDERR_CHARACTERS = 2_000;
/** Less than a user's server may take to start. */
const MANAGED_START_MS = 20_000;
const MANAGED_CHECK_MS = 50;

/** The running program of a user's server. */
export interface UserProgram {
  readonly pid: number;
  /** Where it listens. */
  readonly address: UserSocket;
  /** Whether it was started now. */
  readonly isNew: boolean;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with how it ended. Undefined for one that only its connections tell of. */
  readonly ended: Promise<string> | undefined;
}

/** Starts the program as a child, which ends with this one. Rejects with the system's error. */
export async function startChild(file: string): Promise<UserProgram> {
  const { listener, ...address } = await openUnnamedSocket();
  try {
    const child = await start([file], ["ignore", "ignore", "pipe", listener]);
    return {
      pid: child.pid!,
      address,
      isNew: true,
      kill: (signal) => void child.kill(signal),
      ended: endOf(child),
    };
  } catch (error) {
    address.close();
    throw error;
  } finally {
    closeSync(listener);
  }
}

/**
 * Finds the keeper of a directory, or starts one if none listens there, unless somebody else does. It outlives this
 * program.
 */
export async function findKeeper(directory: DurableDirectory, file: string): Promise<UserProgram> {
  const path = directory.socket;
  const address = { path, close: () => {} };
  const pid = directory.isManaged ? await awaitListener(path) : await findListener(path);
  if (pid !== undefined)
    return { pid, address, isNew: false, kill: (signal) => signalTo(pid, signal), ended: undefined };
  const listener = await openNamedSocket(path);
  const errors = openSync(directory.errors, "a", 0o600);
  try {
    // It also tells keepers apart in lists of processes.
    const child = await start([file, path], ["ignore", "ignore", errors, listener]);
    child.unref();
    const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
    return { pid: child.pid!, address, isNew: true, kill, ended: undefined };
  } finally {
    closeSync(errors);
    closeSync(listener);
  }
}

/** Another program may be about to start it again. */
async function awaitListener(path: string): Promise<number> {
  for (const deadline = performance.now() + MANAGED_START_MS; ; await delay(MANAGED_CHECK_MS)) {
    const pid = await findListener(path);
    if (pid !== undefined) return pid;
    if (performance.now() > deadline)
      throw new CapabilityError(
        "OS_ERROR",
        `it does not run, and only \`exec-server durable keep ${dirname(path)}\` starts it`,
      );
  }
}

/** The program that listens on a Unix socket; undefined if none does. */
export async function findListener(path: string): Promise<number | undefined> {
  const socket = connect({ path });
  try {
    await once(socket, "connect");
    return peerProcess(descriptorOf(socket)).pid;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ECONNREFUSED" || code === "ENOENT") return undefined;
    throw error;
  } finally {
    socket.destroy();
  }
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {} // It has ended.
}

/** It begins as the user of this program, without any of its open descriptors and settings. */
async function start(args: readonly string[], stdio: ("ignore" | "pipe" | number)[]): Promise<ChildProcess> {
  withholdInheritedDescriptors();
  const child = spawn(process.execPath, args, {
    cwd: "/",
    env: {},
    // A new session, out of reach of terminal signals.
    detached: true,
    stdio,
  });
  if (child.pid === undefined) throw ((await once(child, "error")) as [Error])[0];
  // Signals that cannot be sent.
  child.on("error", () => {});
  return child;
}

async function endOf(child: ChildProcess): Promise<string> {
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-MAX_STDERR_CHARACTERS);
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  const how = `it ended with ${signal ?? `code ${code}`}`;
  return said.trim() === "" ? how : `${how}: ${said.trim()}`;
}
