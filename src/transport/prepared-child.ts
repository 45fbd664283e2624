import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { certainSpawnFailure, type SpawnFailure } from "../base/error-codes.ts";
import { ConnectionError, UsageError } from "../base/errors.ts";
import { settledWithin } from "../base/deadlines.ts";
import type { LogFields } from "../base/logger.ts";
import { checkText, checkVariables } from "../base/system-text.ts";
import type { ChildCommand } from "./child-command.ts";
import { JsonLinesTransport } from "./json-lines.ts";
import { ownGroup, signalGroup } from "./process-group.ts";
import type { Transport, TransportEvents } from "./transport.ts";

const TERMINATE_GRACE_MS = 2_000;
const MAX_LOGGED_LINE = 4_096;
/** Time a command has to exit after it has closed its stdout. */
const OWN_END_MS = 2_000;
/** Time to read the last stderr output of an ended command. Another process may keep its stderr open. */
const LAST_WORDS_MS = 2_000;
/** Number and length of stderr lines in its error. */
const MAX_LAST_LINES = 5;
const MAX_LAST_LINE = 500;

/** The pipes of a command that does not serve yet. */
export interface ChildPipes {
  /** What is read beyond the last line that does not belong to the server is put back with `unshift`. */
  readonly stdout: Readable;
  readonly stdin: Writable;
  /** Resolves after stdout has ended, with how the command ended and its last stderr lines. */
  readonly explainEnd: () => Promise<string | undefined>;
}

/** See `startChild`. `prepare` speaks with the command first; if it fails, so does the start, and the command is ended. */
export async function startPreparedChild(
  { command, cwd, env, sharesTerminal = false, name = command[0], logger }: ChildCommand,
  prepare: (pipes: ChildPipes) => Promise<void>,
): Promise<Transport> {
  checkCommand(command);
  if (cwd !== undefined) checkText("cwd", cwd);
  checkVariables(env ?? {});
  const [program, ...args] = command;
  let child: ChildProcessWithoutNullStreams;
  try {
    // Throws some errors of the system, and emits others.
    child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      ...(sharesTerminal ? {} : ownGroup()),
      stdio: "pipe",
    });
    await once(child, "spawn");
  } catch (cause) {
    throw startFailure(program, cwd, cause as NodeJS.ErrnoException);
  }
  const fields: LogFields = { program, pid: child.pid! };
  const signalAll = (signal: NodeJS.Signals): void => {
    if (sharesTerminal) child.kill(signal);
    else signalGroup(child, signal);
  };
  const lastLines: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.split("\n").filter((candidate) => candidate !== "")) {
      logger.warn(line.slice(0, MAX_LOGGED_LINE), fields);
      lastLines.push(line.slice(0, MAX_LAST_LINE));
      if (lastLines.length > MAX_LAST_LINES) lastLines.shift();
    }
  });
  const explainEnd = (reason?: string): Promise<string | undefined> =>
    explained({ child, name, lastLines }, reason);
  let ending = false;
  const endGroup = (): void => {
    if (ending) return;
    ending = true;
    if (isOver(child)) {
      signalAll("SIGKILL");
      return;
    }
    signalAll("SIGTERM");
    const killer = setTimeout(() => signalAll("SIGKILL"), TERMINATE_GRACE_MS);
    child.once("exit", () => {
      clearTimeout(killer);
      // The command is gone; kill the rest of its group.
      signalAll("SIGKILL");
    });
  };
  try {
    await prepare({ stdout: child.stdout, stdin: child.stdin, explainEnd });
  } catch (error) {
    endGroup();
    for (const stream of child.stdio) stream?.destroy();
    throw error;
  }
  const transport = new ChildTransport(child, name, explainEnd);
  child.stdout.once("close", () => {
    if (transport.isWanted) {
      endGroup();
      return;
    }
    // A command that ends by itself may close its output first. A signal would change its exit status.
    const timer = setTimeout(endGroup, OWN_END_MS);
    child.once("exit", () => clearTimeout(timer));
  });
  const exited = (): void => {
    signalAll("SIGKILL");
    transport.left();
    const { stderr } = child;
    (stderr as Socket).unref();
    setTimeout(() => stderr.destroy(), LAST_WORDS_MS).unref();
  };
  if (isOver(child)) exited();
  else child.once("exit", exited);
  return transport;
}

function checkCommand(command: readonly string[]): void {
  if (!Array.isArray(command))
    throw new UsageError("command must be an array of a program and its arguments");
  for (const word of command) checkText("command", word);
  if (!command[0]) throw new UsageError("command is empty: it needs at least a program");
}

/** JSON lines with a command. The reason of its end says how the command ended, and its last stderr lines. */
class ChildTransport extends JsonLinesTransport {
  readonly #explainEnd: (reason?: string) => Promise<string | undefined>;
  /** This side requested the end, so there is nothing to explain. */
  isWanted = false;

  constructor(
    { stdout, stdin }: ChildProcessWithoutNullStreams,
    name: string,
    explainEnd: (reason?: string) => Promise<string | undefined>,
  ) {
    super(stdout, stdin, name);
    this.#explainEnd = explainEnd;
  }

  override open(events: TransportEvents): void {
    const close = (reason?: string): void => {
      if (this.isWanted) events.close(reason);
      else void this.#explainEnd(reason).then((explained) => events.close(explained));
    };
    super.open({ ...events, close });
  }

  override close(): void {
    this.isWanted = true;
    super.close();
  }

  override destroy(reason?: string): void {
    this.isWanted = true;
    super.destroy(reason);
  }

  /** The command has exited. Its unread output is dropped. */
  left(): void {
    this.cut();
  }
}

/** Its stdout may have ended before it did, and its last stderr output may still be in transit. */
async function explained(
  { child, name, lastLines }: { child: ChildProcessWithoutNullStreams; name: string; lastLines: string[] },
  reason: string | undefined,
): Promise<string | undefined> {
  if (!isOver(child)) await settledWithin(once(child, "exit"), LAST_WORDS_MS);
  if (!isOver(child)) return reason;
  if (!child.stderr.readableEnded) await settledWithin(once(child.stderr, "close"), LAST_WORDS_MS);
  const { exitCode, signalCode } = child;
  const how = signalCode === null ? `exited with status ${exitCode}` : `was ended by ${signalCode}`;
  const said = lastLines.length === 0 ? "" : `; its last lines on stderr: ${lastLines.join(" | ")}`;
  return `${reason === undefined ? "" : `${reason}; `}${name} ${how}${said}`;
}

function isOver({ exitCode, signalCode }: ChildProcessWithoutNullStreams): boolean {
  return exitCode !== null || signalCode !== null;
}

function startFailure(
  program: string,
  cwd: string | undefined,
  cause: NodeJS.ErrnoException,
): ConnectionError {
  const where = cwd === undefined ? "" : ` in ${cwd}`;
  return new ConnectionError(`failed to start ${program}${where}: ${cause.message}`, {
    cause,
    code: "SPAWN_FAILED",
    errno: cause.code,
    reason: spawnFailure(cause.code, cwd),
  });
}

/** Node blames the program even if the directory does not exist. */
function spawnFailure(errno: string | undefined, cwd: string | undefined): SpawnFailure | undefined {
  if (errno === "ENOENT" || errno === "ENOTDIR")
    return cwd === undefined || statSync(cwd, { throwIfNoEntry: false })?.isDirectory() === true
      ? "notFound"
      : "noSuchDirectory";
  return errno === "EACCES" && cwd === undefined ? "notExecutable" : certainSpawnFailure(errno);
}
