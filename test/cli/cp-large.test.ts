import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, open, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Relay } from "../client/relay.ts";
import { type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { startSshd } from "./sshd.ts";

// The figures that are promised, with a gigabyte and ten thousand files: `npm run test:cp`. Takes a few minutes.

const execute = promisify(execFile);
const MIB = 1024 * 1024;
const FILE_BYTES = 1024 * MIB;
const FILES = 10_000;
const MAX_MEMORY = 100 * MIB;
const MIN_SPEED = 0.7;
const MAX_AGAIN = 0.55;
const ROUNDS = 3;
const TIMEOUT_MS = 20 * 60_000;
const WIRE_FACTOR = 4 / 3;

let server: ServerUnderTest;
let base: string;
let treeBytes = 0;

const at = (...names: string[]): string => join(base, ...names);
const scp = (from: string, to: string) => execute("scp", ["-q", "-F", at("ssh/config"), from, to]);

async function digest(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

async function digestTree(directory: string): Promise<string> {
  const hash = createHash("sha256");
  const names = await readdir(directory, { recursive: true, withFileTypes: true });
  for (const entry of names.toSorted((one, other) =>
    join(one.parentPath, one.name) < join(other.parentPath, other.name) ? -1 : 1,
  ))
    if (entry.isFile()) hash.update(entry.name).update(readFileSync(join(entry.parentPath, entry.name)));
  return hash.digest("hex");
}

/** Runs `cp` and measures its memory. */
async function cp(
  url: string,
  args: readonly string[],
  started: (kill: () => void) => void = () => {},
): Promise<{ ms: number; status: number | null; memory: number }> {
  const began = performance.now();
  const child = spawn(process.execPath, [builtCli, "cp", ...args], {
    cwd: base,
    env: { PATH: SERVER_PATH, EXEC_SERVER_URL: url },
    stdio: ["ignore", "inherit", "inherit"],
  });
  started(() => child.kill("SIGKILL"));
  let memory = 0;
  const measure = setInterval(() => {
    memory = Math.max(memory, residentPeak(child.pid!));
  }, 20);
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  clearInterval(measure);
  return { ms: performance.now() - began, status, memory };
}

function residentPeak(pid: number): number {
  try {
    const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kib ?? 0) * 1024;
  } catch {
    return 0;
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

describe.runIf(process.env["TEST_LARGE"] === "1")("cp of a gigabyte and of ten thousand files", () => {
  beforeAll(async () => {
    // Not in the temporary directory, which may be in memory.
    base = await mkdtemp("/var/tmp/exec-server-cp-large-");
    await chmod(base, 0o700);
    server = await startServer();
    await mkdir(at("from"));
    const file = await open(at("from/large"), "w");
    for (let written = 0; written < FILE_BYTES; written += 16 * MIB) await file.write(randomBytes(16 * MIB));
    await file.close();
    for (let index = 0; index < FILES; index += 1) {
      await mkdir(at("tree", `d${index % 100}`), { recursive: true });
      const bytes = randomBytes(1000 + ((index * 7919) % 20_000));
      treeBytes += bytes.length;
      await writeFile(at("tree", `d${index % 100}`, `f${index}`), bytes);
    }
  }, TIMEOUT_MS);

  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await rm(base, { recursive: true, force: true });
  });

  it.each([
    ["there", "from/large", (path: string) => [path, `:${at("to")}`], FILE_BYTES],
    ["back", "from/large", (path: string) => [`:${at(path)}`, "to"], FILE_BYTES],
    ["there", "tree", (path: string) => [path, `:${at("to")}`], 0],
    ["back", "tree", (path: string) => [`:${at(path)}`, "to"], 0],
  ] as const)(
    "%s %s: killed at half, less than 55 % travels again",
    async (_, path, argsOf, size) => {
      const bytes = size === 0 ? treeBytes : size;
      const of = size === 0 ? digestTree : digest;
      await using relay = await Relay.open(server.port);
      const killed = await cp(relay.url, argsOf(path), (kill) => {
        relay.onBytes = (passed) => {
          if (passed >= (bytes * WIRE_FACTOR) / 2) kill();
        };
      });
      expect(killed.status).toBe(null);
      relay.onBytes = undefined;
      relay.bytes = 0;
      const { status, memory } = await cp(relay.url, argsOf(path));
      expect(status).toBe(0);
      const again = relay.bytes / WIRE_FACTOR / bytes;
      process.stdout.write(`again: ${(again * 100).toFixed(1)} %, memory: ${Math.round(memory / MIB)} MiB\n`);
      expect(again).toBeLessThan(MAX_AGAIN);
      expect(Math.max(killed.memory, memory)).toBeLessThan(MAX_MEMORY);
      expect(await of(at("to"))).toBe(await of(at(path)));
      await rm(at("to"), { recursive: true });
    },
    TIMEOUT_MS,
  );

  it(
    "a gigabyte takes at most 1/0.7 of the time of scp, there and back",
    async () => {
      await using _sshd = await startSshd(at("ssh"), {});
      {
        const times: Record<string, number[]> = {
          "scp there": [],
          "cp there": [],
          "scp back": [],
          "cp back": [],
        };
        const timed = async (name: string, work: () => Promise<unknown>): Promise<void> => {
          await rm(at("to"), { force: true });
          const began = performance.now();
          await work();
          times[name]!.push(performance.now() - began);
        };
        for (let round = 0; round < ROUNDS; round += 1) {
          await timed("scp there", () => scp(at("from/large"), `machine:${at("to")}`));
          await timed("cp there", () => cp(server.url, ["from/large", `:${at("to")}`]));
          await timed("scp back", () => scp(`machine:${at("from/large")}`, at("to")));
          await timed("cp back", () => cp(server.url, [`:${at("from/large")}`, "to"]));
        }
        const medians = Object.fromEntries(Object.entries(times).map(([name, each]) => [name, median(each)]));
        process.stdout.write(`${JSON.stringify(times)}\n`);
        expect(medians["scp there"]! / medians["cp there"]!).toBeGreaterThan(MIN_SPEED);
        expect(medians["scp back"]! / medians["cp back"]!).toBeGreaterThan(MIN_SPEED);
      }
    },
    TIMEOUT_MS,
  );
});
