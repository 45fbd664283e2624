import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { withDeadline } from "../fault/deadline.ts";
import { builtCli } from "../fault/server-under-test.ts";

const DEADLINE_MS = 100_000;

export interface CommandOptions {
  /** The whole environment besides PATH. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** A program with its options that runs the command, such as `setpriv`. */
  readonly through?: readonly string[];
  /** Everything that the command can read from stdin. Default: nothing. */
  readonly input?: string | Uint8Array;
}

export interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line of the built program that runs on pipes. */
export class RunningCommand {
  readonly child: ChildProcess;
  readonly #closed: Promise<[number | null, NodeJS.Signals | null]>;
  readonly #output = { stdout: "", stderr: "" };

  constructor(child: ChildProcess) {
    this.child = child;
    this.#closed = once(child, "close") as Promise<[number | null, NodeJS.Signals | null]>;
  }

  /** Collects what the command writes. */
  collect(): this {
    const { child } = this;
    for (const name of ["stdout", "stderr"] as const)
      child[name]?.setEncoding("utf8").on("data", (text: string) => {
        this.#output[name] += text;
      });
    return this;
  }

  get stdout(): string {
    return this.#output.stdout;
  }

  get stderr(): string {
    return this.#output.stderr;
  }

  /** Resolves when stdout holds the text. */
  shows(text: string): Promise<void> {
    return this.#holds("stdout", text);
  }

  /** Resolves when stderr holds the text. */
  complains(text: string): Promise<void> {
    return this.#holds("stderr", text);
  }

  async #holds(name: "stdout" | "stderr", text: string): Promise<void> {
    const shown = (async () => {
      while (!this.#output[name].includes(text)) await once(this.child[name]!, "data");
    })();
    await withDeadline(shown, DEADLINE_MS, () => `${text} in ${JSON.stringify(this.#output)}`);
  }

  async ended(): Promise<Ended> {
    const [status, signal] = await withDeadline(
      this.#closed,
      DEADLINE_MS,
      () => `the end of ${this.child.spawnargs.join(" ")}: ${JSON.stringify(this.#output).slice(0, 2000)}`,
    );
    return { status, signal, ...this.#output };
  }
}

/** Starts `exec-server ARGS` and collects its output. */
export function startCommand(args: readonly string[], options: CommandOptions = {}): RunningCommand {
  return startUnread(args, options).collect();
}

/** Starts `exec-server ARGS`; the caller reads its output. */
export function startUnread(
  args: readonly string[],
  { env = {}, cwd = "/", through = [], input }: CommandOptions = {},
): RunningCommand {
  const [program = "", ...rest] = [...through, process.execPath, builtCli, ...args];
  const child = spawn(program, rest, {
    cwd,
    env: { PATH: SERVER_PATH, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // The command may end without reading.
  child.stdin.on("error", () => {});
  if (input !== undefined) child.stdin.end(input);
  return new RunningCommand(child);
}

/** Runs `exec-server ARGS` to its end. */
export function runCommand(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  return startCommand(args, { input: "", ...options }).ended();
}
