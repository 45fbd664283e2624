import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { withDeadline } from "../fault/deadline.ts";
import { builtCli } from "../fault/server-under-test.ts";

const START_DEADLINE_MS = 60_000;

export interface ConsoleServerOptions {
  /** Further flags. */
  readonly args?: readonly string[];
  /** On top of its environment. */
  readonly env?: NodeJS.ProcessEnv;
}

/** The built program with its console and its own home, which can be restarted on the same port. */
export class ConsoleServer implements AsyncDisposable {
  /** Everything that the server may write: its home, and the directory it works in. */
  readonly home: string;
  readonly #args: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  #port = 0;
  #links: string[] = [];
  #complaints = "";

  static async start({ args = [], env = {} }: ConsoleServerOptions = {}): Promise<ConsoleServer> {
    const server = new ConsoleServer(await mkdtemp("/var/tmp/exec-server-console-"), args, env);
    await mkdir(join(server.home, "work"));
    try {
      await server.start();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  private constructor(home: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.home = home;
    this.#args = args;
    this.#env = env;
  }

  get port(): number {
    return this.#port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get webSocketUrl(): string {
    return `ws://127.0.0.1:${this.#port}`;
  }

  get workDirectory(): string {
    return join(this.home, "work");
  }

  get environment(): NodeJS.ProcessEnv {
    const { PATH } = process.env;
    return { PATH, HOME: this.home, LANG: "C.UTF-8", SHELL: "/bin/bash", PS1: "$ ", ...this.#env };
  }

  /** The link that the last start has printed. It works once. */
  get link(): string {
    const link = this.#links.at(-1);
    if (link === undefined) throw new Error(`the server printed no link: ${this.#complaints}`);
    return link;
  }

  /** A client of this server, which the caller closes. */
  connect(options: { readonly token?: string } = {}): Promise<Host> {
    return connect(this.webSocketUrl, options);
  }

  /** A link besides the printed one. */
  async newLink(options: { readonly token?: string } = {}): Promise<string> {
    await using host = await this.connect(options);
    const { token } = await host.request("console/link", null);
    return `${this.origin}/#link=${token}`;
  }

  async start(): Promise<void> {
    const child = spawn(
      process.execPath,
      [builtCli, "serve", "--listen", `ws://127.0.0.1:${this.#port}`, ...this.#args],
      { cwd: this.workDirectory, env: this.environment, stdio: ["ignore", "pipe", "pipe"] },
    );
    this.#child = child;
    this.#complaints = "";
    const killWithUs = (): boolean => child.kill("SIGKILL");
    process.once("exit", killWithUs);
    child.once("exit", () => process.removeListener("exit", killWithUs));
    const started = Promise.all([
      new Promise<string>((resolve) => createInterface({ input: child.stdout }).once("line", resolve)),
      new Promise<void>((resolve) =>
        createInterface({ input: child.stderr }).on("line", (line) => {
          this.#complaints = `${this.#complaints}${line}\n`.slice(-4000);
          const [, link] = /^Console: (\S+)/.exec(line) ?? [];
          if (link === undefined) return;
          this.#links.push(link);
          resolve();
        }),
      ),
    ]);
    const ended = once(child, "exit").then(() => {
      throw new Error(`the server ended: ${this.#complaints}`);
    });
    ended.catch(() => {}); // Later ends are meant.
    const [url] = await withDeadline(
      Promise.race([started, ended]),
      START_DEADLINE_MS,
      () => `the start of the server: ${this.#complaints}`,
    );
    this.#port = Number(new URL(url).port);
  }

  /** Lets it stand still, or go on. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(signal);
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await withDeadline(exited, START_DEADLINE_MS, () => `the end of the server: ${this.#complaints}`);
  }

  /** Memory that the server has now. */
  async residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#child?.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)![1]) * 1024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
    await rm(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}
