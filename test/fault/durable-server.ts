import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "../fixtures/free-port.ts";
import { withDeadline } from "./deadline.ts";
import { builtCli } from "./server-under-test.ts";

const DEADLINE_MS = 60_000;

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A durable server with one address and one directory, however often it is started. */
export class DurableServer implements AsyncDisposable {
  readonly url: string;
  readonly home: string;
  readonly directory: string;
  readonly audit: string;
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #said = "";
  #isDisposed = false;

  private constructor(port: number, args: readonly string[], parent: string, directory?: string) {
    this.url = `ws://127.0.0.1:${port}`;
    this.#args = args;
    this.home = mkdtempSync(join(parent, "durable-"));
    this.directory = directory ?? join(this.home, "d");
    this.audit = join(this.home, "audit.jsonl");
  }

  static start(...args: readonly string[]): Promise<DurableServer> {
    return DurableServer.startBelow("/var/tmp", ...args);
  }

  /** The same with another directory. */
  static startIn(directory: string, ...args: readonly string[]): Promise<DurableServer> {
    return DurableServer.#start(args, "/var/tmp", directory);
  }

  /** The same with all its files below another directory. */
  static startBelow(parent: string, ...args: readonly string[]): Promise<DurableServer> {
    return DurableServer.#start(args, parent);
  }

  static async #start(args: readonly string[], parent: string, directory?: string): Promise<DurableServer> {
    const server = new DurableServer(await freePort(), args, parent, directory);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  get pid(): number {
    return this.#child?.pid ?? Number.NaN;
  }

  /** What the servers have logged. */
  get said(): string {
    return this.#said;
  }

  async start(): Promise<void> {
    // A test that has failed may still be about to start it again.
    if (this.#isDisposed) throw new Error("the test is over");
    const args = ["--listen", this.url, "--durable", this.directory, "--audit", this.audit, ...this.#args];
    const child = spawn(process.execPath, [builtCli, ...args], {
      cwd: this.home,
      env: { PATH: process.env["PATH"], HOME: this.home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    child.stderr.setEncoding("utf8").on("data", (text: string) => (this.#said += text));
    const banner = new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).on("line", () => resolve());
      child.once("close", () => reject(new Error(`the server did not start: ${this.#said}`)));
    });
    await withDeadline(banner, DEADLINE_MS, () => "the banner");
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill(signal);
    await withDeadline(exited, DEADLINE_MS, () => `the end after ${signal}`);
  }

  /** Runs `exec-server` with these arguments. */
  async command(...args: readonly string[]): Promise<Ended> {
    return runCli(args);
  }

  async keeper(): Promise<number> {
    const { out } = await this.command("durable", "status", "--json", this.directory);
    return (JSON.parse(out) as { keeper: { pid: number } }).keeper.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.kill("SIGKILL");
    await this.command("durable", "end", this.directory);
    rmSync(this.home, { recursive: true, force: true });
  }
}

export async function runCli(args: readonly string[], user?: number): Promise<Ended> {
  const child = spawn(process.execPath, [builtCli, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"] },
    ...(user === undefined ? {} : { uid: user, gid: user }),
  });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const closed = once(child, "close") as Promise<[number | null]>;
  const [code] = await withDeadline(closed, DEADLINE_MS, () => `the end of ${args.join(" ")}`).finally(() =>
    child.kill("SIGKILL"),
  );
  return { code, out, err };
}
