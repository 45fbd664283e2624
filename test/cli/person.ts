import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { socketUrl } from "../../src/base/socket-url.ts";
import { connect } from "../../src/client/connect/connect.ts";
import type { Result } from "../../src/protocol/index.ts";
import { withDeadline } from "../fault/deadline.ts";

const PROGRAM = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const DEADLINE_MS = 60_000;

/** How a command ended. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** A command that runs the program, such as `setpriv`. */
  readonly through?: readonly string[];
  readonly input?: string;
}

/** Somebody with a home and a runtime directory of their own, and so with an own server. */
export class Person implements AsyncDisposable {
  readonly home = mkdtempSync(join(tmpdir(), "es-"));
  readonly runtime = join(this.home, "run");
  readonly socket = join(this.runtime, "exec-server", "server.sock");
  readonly log = join(this.runtime, "exec-server", "server.log");
  readonly env: Readonly<Record<string, string | undefined>> = {
    PATH: process.env["PATH"],
    HOME: this.home,
    XDG_RUNTIME_DIR: this.runtime,
    // Nothing stays for long if a test is interrupted.
    EXEC_SERVER_EXIT_WHEN_IDLE: "30s",
  };

  constructor() {
    mkdirSync(this.runtime, { mode: 0o700 });
  }

  /** Runs the built program to its end. */
  async run(args: readonly string[], { cwd, env, through = [], input }: CommandOptions = {}): Promise<Ended> {
    const [program = "", ...rest] = [...through, process.execPath, PROGRAM, ...args];
    const child = spawn(program, rest, { cwd: cwd ?? this.home, env: { ...this.env, ...env } });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => void (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (stderr += text));
    child.stdin.on("error", () => {}).end(input);
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    const status = await withDeadline(
      ended,
      DEADLINE_MS,
      () => `the end of ${args.join(" ")}: ${stdout}${stderr}`,
    );
    return { status, stdout, stderr };
  }

  /** What the own server says about itself. Rejects if there is none. */
  async server(): Promise<Result<"server/status">> {
    await using host = await connect(socketUrl(this.socket));
    return await host.request("server/status", null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const server = await this.server().catch(() => undefined);
    if (server !== undefined) process.kill(server.pid, "SIGKILL");
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}
