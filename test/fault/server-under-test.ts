import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chown, cp, mkdtemp, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findCodexBinary } from "../../scripts/install-codex.mjs";
import { withDeadline } from "./deadline.ts";

const BANNER_DEADLINE_MS = 60_000;
const EXIT_DEADLINE_MS = 60_000;
/** The program as it is built. */
export const packageRoot = fileURLToPath(new URL("../..", import.meta.url));
export const builtCli = join(packageRoot, "dist", "cli.js");

/** FAULT_TARGET_CODEX=1 aims the tests at the real server, to see whether they ask for what a server can give. */
export const targetIsCodex = process.env["FAULT_TARGET_CODEX"] === "1";

interface ServerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServerUnderTest extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<ServerExit>;
  kill(signal: NodeJS.Signals): Promise<ServerExit>;
}

export interface ServerOptions {
  /** Set in the server's own environment, so that everything it forks can be distinguished from other processes. */
  marker?: string;
  /** The real server, whatever the tests are aimed at. */
  codex?: boolean;
  /** Further flags. */
  args?: readonly string[];
  /** User and group id to run as, without any other group. Needs root. */
  user?: number;
  /** A program with its options that becomes the server, such as `setpriv`. */
  through?: readonly string[];
}

export async function startServer(options: ServerOptions = {}): Promise<ServerUnderTest> {
  // Not under the temporary directory: the real server warns about that and behaves differently.
  const home = await mkdtemp("/var/tmp/exec-server-fault-");
  let server = options.codex === true ? codexCommand() : commandUnderTest();
  if (options.user !== undefined) {
    server = await copyFor(server, home);
    await chown(home, options.user, options.user);
  }
  const [command = "", ...args] = [...(options.through ?? []), ...server];
  const child = spawn(command, [...args, "--listen", "ws://127.0.0.1:0", ...(options.args ?? [])], {
    cwd: home,
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      CODEX_HOME: home,
      ...(options.marker === undefined ? {} : { FAULT_MARKER: options.marker }),
    },
    stdio: ["ignore", "pipe", "pipe"],
    ...(options.user === undefined ? {} : { uid: options.user, gid: options.user }),
  });
  const killWithUs = () => child.kill("SIGKILL");
  process.once("exit", killWithUs);
  let complaints = "";
  child.stderr.on("data", (bytes: Buffer) => {
    complaints = (complaints + bytes.toString()).slice(-4000);
  });
  const exited = new Promise<ServerExit>((resolve) => {
    child.once("exit", (code, signal) => {
      process.removeListener("exit", killWithUs);
      resolve({ code, signal });
    });
  });
  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return withDeadline(exited, EXIT_DEADLINE_MS, () => `the server's exit after ${signal}\n${complaints}`);
  };
  const dispose = async () => {
    await kill("SIGKILL");
    await rm(home, { recursive: true, force: true });
  };
  try {
    const url = await withDeadline(readBanner(child), BANNER_DEADLINE_MS, () => `the banner\n${complaints}`);
    const pid = child.pid ?? Number.NaN;
    return { url, port: Number(new URL(url).port), pid, exited, kill, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw new Error(`the server did not start: ${complaints}`, { cause: error });
  }
}

/** Another user may not be allowed to read this package's directory, so that user gets a copy. */
async function copyFor(server: readonly [string, ...string[]], home: string): Promise<[string, ...string[]]> {
  const [program, first = "", ...rest] = server;
  if (first !== builtCli) {
    const copy = join(home, basename(program));
    // Another program writes it: a child that this one starts at the same time would hold the file open for writing, and
    // then it could not be run (ETXTBSY).
    await promisify(execFile)("cp", [program, copy]);
    return [copy, first, ...rest];
  }
  for (const name of ["cli.js", "program.js", "client.js", "sandbox-helper.js", "package.json", "parts"])
    await cp(join(packageRoot, "dist", name), join(home, "dist", name), { recursive: true });
  // The dependency outside the bundles, with the binary for this machine.
  for (const name of ["koffi", "@koromix"])
    await cp(join(packageRoot, "node_modules", name), join(home, "node_modules", name), { recursive: true });
  return [program, join(home, "dist", "cli.js"), ...rest];
}

function commandUnderTest(): [string, ...string[]] {
  if (targetIsCodex) return codexCommand();
  if (!existsSync(builtCli)) throw new Error("dist/cli.js does not exist; run `npm run build`");
  return [process.execPath, builtCli];
}

function codexCommand(): [string, ...string[]] {
  const binary = findCodexBinary();
  if (binary === undefined) throw new Error("no codex binary; run `node scripts/install-codex.mjs`");
  return [binary, "exec-server"];
}

function readBanner(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const { stdout } = child;
    if (stdout === null) throw new Error("stdout is not a pipe");
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`exit ${code ?? signal}`)));
    createInterface({ input: stdout }).on("line", (line) => {
      if (line.startsWith("ws://")) resolve(line.trim());
    });
  });
}
