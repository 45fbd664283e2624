import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { CODEX_VERSION, findCodexBinary } from "../../scripts/install-codex.mjs";

export type ServerKind = "ours" | "codex";

/** PATH of a server and its children; the same for both kinds, so that answers can be compared. */
export const SERVER_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const STOP_TIMEOUT_MS = 5000;
const BANNER_TIMEOUT_MS = 30_000;
const running = new Set<ChildProcess>();

// A test run that is interrupted must not leave servers behind.
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** One run of a server's command line. */
export class ServerProcess {
  readonly child: ChildProcess;
  readonly home: string;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stdout = "";
  stderr = "";

  constructor(child: ChildProcess, home: string, options: { keepStdout: boolean }) {
    this.child = child;
    this.home = home;
    running.add(child);
    if (options.keepStdout) {
      child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        this.stdout += text;
      });
    }
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    // Writes to a server that has exited fail; `exited` reports it.
    child.stdin?.on("error", () => {});
    this.exited = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        running.delete(child);
        resolve({ code, signal });
      });
    });
    // Callers that await `exited` see the failure; not every caller does.
    this.exited.catch(() => {});
  }

  /** The first line on stdout. Rejects when the process ends without one. */
  async banner(): Promise<string> {
    const deadline = AbortSignal.timeout(BANNER_TIMEOUT_MS);
    return new Promise((resolve, reject) => {
      const look = () => {
        const end = this.stdout.indexOf("\n");
        if (end !== -1) resolve(this.stdout.slice(0, end));
      };
      const fail = (why: string) =>
        reject(new Error(`the server printed no URL: ${why}; stderr: ${this.stderr}`));
      this.child.stdout?.on("data", look);
      this.exited.then(({ code }) => fail(`it ended with status ${code}`), reject);
      deadline.addEventListener("abort", () => fail(`nothing within ${BANNER_TIMEOUT_MS} ms`));
      look();
    });
  }

  /** Ends the process, by force if necessary, and removes its home. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (running.has(this.child)) {
      // The real server, when it serves stdio, leaves at the end of stdin only.
      this.child.stdin?.end();
      this.child.kill(signal);
      const timer = setTimeout(() => this.child.kill("SIGKILL"), STOP_TIMEOUT_MS);
      await this.exited.catch(() => {});
      clearTimeout(timer);
    }
    await rm(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

export interface LaunchOptions {
  /** Variables added to the server's own environment. */
  env?: Record<string, string>;
  cwd?: string;
  /** False when a peer reads stdout itself. */
  keepStdout?: boolean;
  /** Release of the real server. Default: the newest. */
  codexVersion?: string;
}

/** Starts the server's command line with these arguments. The caller must `stop` it. */
export async function launch(
  kind: ServerKind,
  args: readonly string[],
  options: LaunchOptions = {},
): Promise<ServerProcess> {
  const [program, ...first] = commandOf(kind, options.codexVersion ?? CODEX_VERSION);
  // Not under the system's temporary directory: the real server warns on stderr when its home is there.
  const home = await mkdtemp("/var/tmp/exec-server-conformance-");
  const child = spawn(program, [...first, ...args], {
    cwd: options.cwd ?? home,
    env: { PATH: SERVER_PATH, HOME: home, CODEX_HOME: home, ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  return new ServerProcess(child, home, { keepStdout: options.keepStdout ?? true });
}

function commandOf(kind: ServerKind, codexVersion: string): [string, ...string[]] {
  if (kind === "ours") {
    const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
    if (!existsSync(cli)) throw new Error("dist/cli.js is missing: run `npm run build` first");
    return [process.execPath, cli];
  }
  const binary = findCodexBinary(codexVersion);
  if (binary === undefined) {
    throw new Error(
      `codex ${codexVersion} is missing: run \`node scripts/install-codex.mjs\`, or leave it out with CONFORMANCE_TARGETS`,
    );
  }
  return [binary, "exec-server"];
}
