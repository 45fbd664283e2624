import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CodeCache, describeRuntime } from "../../src/cli/launcher/code-cache.ts";
import { extractProgram } from "../../src/cli/launcher/program-text.ts";
import { connect } from "../../src/client/connect/connect.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { builtCli, packageRoot } from "../fault/server-under-test.ts";

// The built program: one file that starts anywhere, with or without a cache of its code.

const DEADLINE_MS = 20_000;
const run = promisify(execFile);
const servers: ChildProcess[] = [];

let directory: string;
let home: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "exec-server-program-"));
  home = join(directory, "home");
  mkdirSync(home);
});

afterEach(async () => {
  for (const server of servers.splice(0)) {
    const exited = once(server, "exit");
    if (server.kill("SIGKILL")) await exited;
  }
  rmSync(directory, { recursive: true, force: true });
});

const environment = (): NodeJS.ProcessEnv => ({ PATH: process.env["PATH"], HOME: home });

function copyProgram(name: string, packageJson?: string): string {
  const target = join(directory, name);
  mkdirSync(target);
  if (packageJson !== undefined) writeFileSync(join(target, "package.json"), packageJson);
  // What stays outside the one file.
  symlinkSync(join(packageRoot, "node_modules"), join(target, "node_modules"));
  const program = join(target, "cli.js");
  copyFileSync(builtCli, program);
  return program;
}

async function outputOf(program: string, args: readonly string[], env = environment()): Promise<string> {
  return (await run(process.execPath, [program, ...args], { env })).stdout;
}

async function startServer(program: string): Promise<{ url: string; pid: number }> {
  const child = spawn(process.execPath, [program], {
    env: environment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  servers.push(child);
  const [url] = await withDeadline(once(createInterface(child.stdout), "line"), DEADLINE_MS, () => "a URL");
  return { url: String(url), pid: child.pid ?? Number.NaN };
}

const cacheDirectory = (): string => join(home, ".cache", "exec-server");

const keptCache = (): Promise<string> =>
  pollUntil(
    () => {
      const names = existsSync(cacheDirectory()) ? readdirSync(cacheDirectory()) : [];
      const name = names.find((file) => file.startsWith("code-"));
      return name === undefined ? false : join(cacheDirectory(), name);
    },
    DEADLINE_MS,
    () => "a cache of the code",
  );

async function echoThrough(url: string): Promise<string> {
  await using host = await connect(url);
  return (await host.run(["echo", "works"])).stdout;
}

test.each([
  ["without a package", undefined],
  ["in a package of CommonJS modules", '{ "type": "commonjs" }'],
  ["in a package of ES modules", '{ "type": "module" }'],
])("a copy of the program works %s, and through a link", async (_where, packageJson) => {
  const program = copyProgram("copy", packageJson);
  const link = join(directory, "exec-server");
  symlinkSync(program, link);
  for (const path of [program, link]) {
    expect(await outputOf(path, ["--version"])).toMatch(/^exec-server [0-9.]+\n$/);
    expect(await outputOf(path, ["--help"])).toContain("Usage: exec-server");
    expect(await echoThrough((await startServer(path)).url)).toBe("works\n");
  }
});

test("a server keeps a cache, and what is in the cache is what a later start runs", async () => {
  const program = copyProgram("program");
  const changed = copyProgram("changed");
  const text = readFileSync(program, "latin1");
  const other = text.replaceAll("`exec-server $", "`exec-serves $");
  expect(other).not.toBe(text);
  writeFileSync(changed, other, "latin1");
  await startServer(changed);
  const keptFile = readFileSync(await keptCache());
  rmSync(cacheDirectory(), { recursive: true });
  // Nobody but a test gives one program the cache of another.
  const cache = new CodeCache({
    program,
    text: extractProgram(readFileSync(program)).bytes,
    runtime: describeRuntime([], undefined),
    environment: environment(),
  });
  await cache.store(keptFile.subarray(32));
  expect(await outputOf(program, ["--version"])).toMatch(/^exec-serves /);
  // Clients that are confined to some directories might be able to write to that of the cache.
  for (const flags of [["--fs-roots", home], [`--fs-roots=${home}`], ["--config", "limits.toml"]])
    expect(await outputOf(program, [...flags, "--version"])).toMatch(/^exec-server /);
  rmSync(cacheDirectory(), { recursive: true });
  expect(await outputOf(program, ["--version"])).toMatch(/^exec-server /);
});

test("a damaged cache is not run, and is replaced", async () => {
  const program = copyProgram("program");
  await startServer(program);
  const file = await keptCache();
  const damaged = readFileSync(file);
  damaged.fill(0xff, damaged.length / 2);
  writeFileSync(file, damaged);
  expect(await echoThrough((await startServer(program)).url)).toBe("works\n");
  await pollUntil(
    () => !readFileSync(file).equals(damaged),
    DEADLINE_MS,
    () => "another cache",
  );
  expect(readdirSync(cacheDirectory())).toHaveLength(1);
});

test("a server without a home, or with one that it cannot write to, works without a cache", async () => {
  const program = copyProgram("program");
  rmSync(home, { recursive: true });
  writeFileSync(home, "not a directory");
  expect(await outputOf(program, ["--version"])).toContain("exec-server");
  expect(await outputOf(program, ["--version"], {})).toContain("exec-server");
  expect(await echoThrough((await startServer(program)).url)).toBe("works\n");
});

test("an error that nobody catches names its place in the file", async () => {
  const program = copyProgram("program");
  const preloaded = join(directory, "broken-stdout.cjs");
  writeFileSync(preloaded, 'process.stdout.write = () => { throw new Error("broken"); };');
  const failed = run(process.execPath, ["-r", preloaded, program, "--version"], { env: environment() });
  const { stderr, code } = (await failed.catch((error: unknown) => error)) as {
    stderr: string;
    code: number;
  };
  expect(code).toBe(1);
  const [, line, column] = /at main \(.*\/cli\.js:([0-9]+):([0-9]+)\)/.exec(stderr) ?? [];
  const lines = readFileSync(program, "latin1").split("\n");
  const at = lines[Number(line) - 1]?.slice(Number(column) - 1);
  expect(at).toMatch(/^(?:process\.stdout\.)?write\(`exec-server /);
});
