import { spawn } from "node:child_process";
import { closeSync, fstatSync, mkdirSync, openSync, readSync, statSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { CapabilityError } from "../../../../base/errors.ts";
import type { Host } from "../../../../client/host/host.ts";
import { ownAccount } from "../../../../native/account.ts";
import { tryToLock } from "../../../../native/file-lock.ts";
import { withholdInheritedDescriptors } from "../../../../native/spawn.ts";
import { openLog } from "../../../shared/bounded-log-file.ts";
import { describeFileError, Failure } from "../../../shared/failure.ts";
import { ownServerEnvironment } from "./own-server-environment.ts";
import { ownServerPaths, type OwnServerPaths } from "./own-server-paths.ts";

/** A loaded machine may need seconds; longer waits need a message. */
const START_DEADLINE_MS = 20_000;
const POLL_MS = 10;
const DEFAULT_IDLE_TIME = "10m";
/** Bytes of the log that an error shows. */
const SHOWN_LOG_BYTES = 2_000;
const SHOWN_LOG_LINES = 3;

/**
 * Starts the user's own server and connects to it. Of many commands that do so at once, the one that gets the lock
 * starts it, and the others wait. `open` resolves with undefined while no server is running.
 */
export async function startOwnServer(
  paths: OwnServerPaths,
  open: () => Promise<Host | undefined>,
): Promise<Host> {
  makeDirectory(paths);
  const deadline = Date.now() + START_DEADLINE_MS;
  let unlock: (() => void) | undefined;
  let server: StartedServer | undefined;
  try {
    for (;;) {
      const hasEnded = server?.hasEnded ?? false;
      const isLocked = unlock !== undefined;
      const host = await open();
      if (host !== undefined) return host;
      // The previous holder of the lock may have started a server, so nothing is started before `open` has failed
      // again.
      if (server !== undefined && hasEnded) throw didNotStart(paths, server);
      else if (isLocked) server ??= startServer(paths);
      else unlock = lock(paths);
      if (Date.now() > deadline)
        throw new Failure(
          `your own server does not answer on ${paths.socket} after ${START_DEADLINE_MS / 1000} s; see ${paths.log}`,
        );
      await setTimeout(isLocked || unlock === undefined ? POLL_MS : 0);
    }
  } finally {
    unlock?.();
  }
}

function makeDirectory({ directory, exists }: OwnServerPaths): void {
  if (exists) return;
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST")
      throw new Failure(`cannot create ${directory} for your own server: ${describeFileError(error)}`);
  }
  // Another user may have been quicker.
  ownServerPaths();
}

function lock({ lock: path }: OwnServerPaths): (() => void) | undefined {
  try {
    return tryToLock(path);
  } catch (error) {
    if (error instanceof CapabilityError && error.code === "UNSUPPORTED")
      throw new Failure(`${error.message}; name a server elsewhere with -H or --url`);
    throw new Failure(`cannot lock ${path} to start your own server: ${describeFileError(error)}`);
  }
}

/** A server that has been started, and may have ended. */
interface StartedServer {
  readonly hasEnded: boolean;
  /** Length of the log before its start. */
  readonly logStart: number;
}

/** Starts it in a new session, detached from this terminal and directory. */
function startServer({ socket, log }: OwnServerPaths): StartedServer {
  const url = `unix://${socket.split("/").map(encodeURIComponent).join("/")}`;
  const idle = process.env["EXEC_SERVER_EXIT_WHEN_IDLE"] || DEFAULT_IDLE_TIME;
  const flags = ["serve", "--listen", url, "--exit-when-idle", idle, "--log-file", log];
  const logFd = open(log);
  try {
    const logStart = fstatSync(logFd).size;
    // A script may have opened files, and hold locks on them, that must not stay open with the server.
    withholdInheritedDescriptors();
    const child = spawn(process.execPath, [process.argv[1] ?? "", ...flags], {
      cwd: homeDirectory(),
      env: ownServerEnvironment(),
      detached: true,
      stdio: ["ignore", "ignore", logFd],
    });
    child.unref();
    const server = { logStart, hasEnded: false };
    const end = (): void => void (server.hasEnded = true);
    child.once("error", end).once("exit", end);
    return server;
  } finally {
    closeSync(logFd);
  }
}

/** Does not depend on which command happened to start the server. */
function homeDirectory(): string {
  const { home = "/" } = ownAccount() ?? {};
  return statSync(home, { throwIfNoEntry: false })?.isDirectory() === true ? home : "/";
}

function open(log: string): number {
  try {
    return openLog(log);
  } catch (error) {
    throw new Failure(`cannot open ${log} for your own server: ${describeFileError(error)}`);
  }
}

function didNotStart({ log }: OwnServerPaths, { logStart }: StartedServer): Failure {
  const said = lastLines(log, logStart);
  return new Failure(
    `your own server did not start${said === "" ? "" : `: ${said}`}; see ${log}, or name a server with -H or --url`,
  );
}

/** The last lines that were added to a log since `start`, as one line. */
function lastLines(log: string, start: number): string {
  try {
    const fd = openSync(log, "r");
    try {
      const from = Math.max(start, fstatSync(fd).size - SHOWN_LOG_BYTES);
      const bytes = Buffer.alloc(SHOWN_LOG_BYTES);
      const text = bytes.toString("utf8", 0, readSync(fd, bytes, 0, SHOWN_LOG_BYTES, from));
      return text.trim().split("\n").slice(-SHOWN_LOG_LINES).join(" | ");
    } finally {
      closeSync(fd);
    }
  } catch {
    return "";
  }
}
