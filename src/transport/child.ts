import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { ConnectionError } from "../base/errors.ts";
import type { LogFields, Logger } from "../base/logger.ts";
import { JsonLinesTransport } from "./json-lines.ts";
import type { Transport } from "./transport.ts";

const TERMINATE_GRACE_MS = 2_000;
const MAX_LOGGED_LINE = 4_096;
/** Time to read the last stderr output of an ended command. Another process may keep its stderr open. */
const LAST_WORDS_MS = 500;

/** A command that serves on its stdin and stdout. */
export interface ChildCommand {
  readonly command: readonly [program: string, ...args: string[]];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Receives the command's stderr. */
  readonly logger: Logger;
}

/**
 * Starts a command and exchanges JSON lines with it. It leads its own process group: when the transport ends for any
 * reason, the whole group gets SIGTERM and, after a grace period, SIGKILL.
 */
export async function startChild({ command, cwd, env, logger }: ChildCommand): Promise<Transport> {
  const [program, ...args] = command;
  const child = spawn(program, args, { cwd, env: env as NodeJS.ProcessEnv, detached: true, stdio: "pipe" });
  try {
    await once(child, "spawn");
  } catch (cause) {
    throw new ConnectionError(`failed to start ${program}: ${(cause as Error).message}`, { cause });
  }
  const pgid = child.pid!;
  const fields: LogFields = { program, pid: pgid };
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.split("\n")) if (line !== "") logger.warn(line.slice(0, MAX_LOGGED_LINE), fields);
  });
  const transport = new JsonLinesTransport(child.stdout, child.stdin, `JSON-RPC message from ${program}`);
  let ending = false;
  const endGroup = (): void => {
    if (ending) return;
    ending = true;
    if (child.exitCode !== null || child.signalCode !== null) {
      signalGroup(pgid, "SIGKILL");
      return;
    }
    signalGroup(pgid, "SIGTERM");
    const killer = setTimeout(() => signalGroup(pgid, "SIGKILL"), TERMINATE_GRACE_MS);
    child.once("exit", () => {
      clearTimeout(killer);
      // The command is gone; kill the rest of its group.
      signalGroup(pgid, "SIGKILL");
    });
  };
  child.stdout.once("close", endGroup);
  child.once("exit", () => {
    signalGroup(pgid, "SIGKILL");
    transport.destroy();
    const { stderr } = child;
    (stderr as Socket).unref();
    setTimeout(() => stderr.destroy(), LAST_WORDS_MS).unref();
  });
  return transport;
}

function signalGroup(pgid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pgid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
