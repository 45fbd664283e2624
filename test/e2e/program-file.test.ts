import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { withDeadline } from "../fault/deadline.ts";
import { packageRoot } from "../fault/server-under-test.ts";

// The built program: a launcher and a bundle that start anywhere, with or without a cache of their code.

const DEADLINE_MS = 60_000;
const run = promisify(execFile);
const servers: ChildProcess[] = [];

let directory: string;
let program: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "exec-server-program-"));
  const target = join(directory, "dist");
  mkdirSync(target);
  for (const name of ["cli.js", "program.js", "client.js", "package.json"])
    copyFileSync(join(packageRoot, "dist", name), join(target, name));
  // Dependencies outside the bundle.
  symlinkSync(join(packageRoot, "dist/parts"), join(target, "parts"));
  symlinkSync(join(packageRoot, "node_modules"), join(target, "node_modules"));
  program = join(target, "cli.js");
});

afterEach(async () => {
  for (const server of servers.splice(0)) {
    const exited = once(server, "exit");
    if (server.kill("SIGKILL")) await exited;
  }
  rmSync(directory, { recursive: true, force: true });
});

const environment = (): NodeJS.ProcessEnv => ({ PATH: process.env["PATH"], HOME: directory });

async function outputOf(path: string, args: readonly string[]): Promise<string> {
  return (await run(process.execPath, [path, ...args], { env: environment() })).stdout;
}

interface RunningServer {
  readonly url: string;
  /** Ends it as a service manager would. */
  stop(): Promise<void>;
}

async function startServer(path: string): Promise<RunningServer> {
  const child = spawn(process.execPath, [path], {
    env: environment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  servers.push(child);
  const line = once(createInterface({ input: child.stdout }), "line");
  const [url] = await withDeadline(line, DEADLINE_MS, () => "the address");
  const stop = async (): Promise<void> => {
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    expect(await withDeadline(exited, DEADLINE_MS, () => "the end of the server")).toEqual([0, null]);
  };
  return { url: String(url), stop };
}

async function serveOneClient(path = program): Promise<void> {
  const server = await startServer(path);
  {
    await using host = await connect(server.url);
    expect((await host.run(["echo", "works"])).stdout).toBe("works\n");
  }
  await server.stop();
}

const cacheDirectory = (): string => join(dirname(program), "cache");

/** The files of the cache: one of ours, or as Node lays them out. */
function cacheFiles(): string[] {
  const entries = readdirSync(cacheDirectory(), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

test("a copy of the program works, also through a link", async () => {
  const link = join(directory, "exec-server");
  symlinkSync(program, link);
  for (const path of [program, link]) {
    expect(await outputOf(path, ["--version"])).toMatch(/^exec-server [0-9.]+\n$/);
    expect(await outputOf(path, ["--help"])).toContain("Usage: exec-server");
    await serveOneClient(path);
  }
});

test("a server leaves a cache beside the program, which later ones use as it is", async () => {
  await outputOf(program, ["--version"]);
  expect(existsSync(cacheDirectory())).toBe(false);
  await serveOneClient();
  expect(statSync(cacheDirectory()).mode & 0o777).toBe(0o700);
  const state = (): Map<string, number> =>
    new Map(cacheFiles().map((file) => [file, statSync(file).mtimeMs]));
  const kept = state();
  expect(kept.size).toBeGreaterThan(0);
  await serveOneClient();
  expect(state()).toEqual(kept);
});

test("a damaged cache is not run, and is replaced", async () => {
  await serveOneClient();
  const damagedFiles = cacheFiles().map((file) => {
    const damaged = readFileSync(file);
    damaged.fill(0xff, damaged.length / 2);
    writeFileSync(file, damaged);
    return { file, damaged };
  });
  await serveOneClient();
  for (const { file, damaged } of damagedFiles) expect(readFileSync(file).equals(damaged)).toBe(false);
});

test("a server works without a cache where it cannot keep one, or others could change it", async () => {
  mkdirSync(cacheDirectory());
  chmodSync(cacheDirectory(), 0o777);
  await serveOneClient();
  expect(cacheFiles()).toEqual([]);
  rmSync(cacheDirectory(), { recursive: true });
  writeFileSync(cacheDirectory(), "no directory");
  await serveOneClient();
});

test("an error that nobody catches names its place in the file", async () => {
  const preloaded = join(directory, "broken-directory.cjs");
  writeFileSync(preloaded, 'process.cwd = () => { throw new Error("broken"); };');
  for (const args of [["--stdio"], []]) {
    const failed = run(process.execPath, ["-r", preloaded, program, ...args], { env: environment() });
    const { stderr, code } = (await failed.catch((error: unknown) => error)) as {
      stderr: string;
      code: number;
    };
    expect(code).toBe(1);
    const [, line, column] = /\/program\.js:([0-9]+):([0-9]+)\)/.exec(stderr) ?? [];
    const lines = readFileSync(join(dirname(program), "program.js"), "latin1").split("\n");
    const at = lines[Number(line) - 1]?.slice(Number(column) - 1);
    expect(at).toMatch(/^(?:process\.)?cwd\(\)/);
  }
});
