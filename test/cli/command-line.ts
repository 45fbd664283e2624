import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { launch, SERVER_PATH, type ServerProcess } from "../conformance/server-process.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { type Ended as EndedCommand, RunningCommand } from "./command.ts";

/** What a line left behind. */
export type Ended = Omit<EndedCommand, "signal">;

export interface LineOptions {
  /** Added to the environment; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
}

/** A directory, a server, and a shell whose `exec-server` is the built program and uses that server. */
export class CommandLine implements AsyncDisposable {
  static async start(args: readonly string[] = []): Promise<CommandLine> {
    const directory = await mkdtemp("/var/tmp/exec-server-cli-");
    await mkdir(join(directory, "bin"));
    await symlink(builtCli, join(directory, "bin/exec-server"));
    const server = await launch("ours", ["--listen", "ws://127.0.0.1:0", ...args]);
    return new CommandLine(directory, server, await server.banner());
  }

  /** An empty place for files, which is also the home and the working directory. */
  readonly directory: string;
  readonly url: string;
  readonly #server: ServerProcess;

  private constructor(directory: string, server: ServerProcess, url: string) {
    this.directory = directory;
    this.url = url;
    this.#server = server;
  }

  /** Runs a line in a shell without a terminal. */
  async run(line: string, { env = {}, input }: LineOptions = {}): Promise<Ended> {
    const child = spawn("bash", ["-c", line], {
      cwd: this.directory,
      env: { ...this.environment, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
    try {
      const { status, stdout, stderr } = await new RunningCommand(child).collect().ended();
      return { status, stdout, stderr };
    } finally {
      child.kill("SIGKILL");
    }
  }

  /** Runs a line in a shell on a terminal, and returns what a terminal would get. */
  async runInTerminal(line: string, columns = 80, options: LineOptions = {}): Promise<Ended> {
    const quoted = `stty cols ${columns} rows 24 -onlcr; ${line}`.replaceAll("'", "'\\''");
    const { env, ...rest } = options;
    return await this.run(`script -qec '${quoted}' /dev/null`, {
      ...rest,
      env: { SHELL: "/bin/bash", TERM: "xterm", ...env },
    });
  }

  get environment(): Readonly<Record<string, string>> {
    return {
      PATH: `${join(this.directory, "bin")}:${SERVER_PATH}`,
      HOME: this.directory,
      LANG: "C.UTF-8",
      EXEC_SERVER_URL: this.url,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }
}
