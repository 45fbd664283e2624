import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { lockFile } from "./lock-file.ts";

/** What another program does just before a file is renamed. */
let beforeRename: (() => void) | undefined;
/** A file system without hard links. */
let linkFault: Error | undefined;

vi.mock("node:fs", async (original) => {
  const actual = await original<typeof fs>();
  const renameSync = (from: string, to: string): void => {
    const act = beforeRename;
    beforeRename = undefined;
    act?.();
    actual.renameSync(from, to);
  };
  const linkSync = (from: string, to: string): void => {
    if (linkFault !== undefined) throw linkFault;
    actual.linkSync(from, to);
  };
  return { ...actual, renameSync, linkSync };
});

let folder = "";
let path = "";

beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), "lock-file-"));
  path = join(folder, "job.lock");
});
afterEach(() => {
  beforeRename = undefined;
  linkFault = undefined;
  fs.rmSync(folder, { recursive: true });
});

test("a lock that cannot be made says why, and leaves nothing behind", () => {
  linkFault = Object.assign(new Error("EPERM: operation not permitted, link"), { code: "EPERM" });
  expect(() => lockFile(path)).toThrow(linkFault);
  expect(fs.readdirSync(folder)).toEqual([]);
});

test("a lock excludes others until it is unlocked, and leaves nothing behind", () => {
  const unlock = lockFile(path);
  expect(fs.readdirSync(folder)).toEqual(["job.lock"]);
  expect(fs.statSync(path).mode & 0o777).toBe(0o600);
  expect(() => lockFile(path)).toThrow(
    `process ${process.pid} on ${hostname()} is working on this job; if not, remove ${path}`,
  );
  expect(fs.readdirSync(folder)).toEqual(["job.lock"]);
  unlock();
  expect(fs.readdirSync(folder)).toEqual([]);
  unlock();
  lockFile(path)();
});

test.each([
  ["has ended", { pid: 2 ** 22 + 1, started: "1" }],
  ["had the number that this program has", { pid: process.pid, started: "1" }],
])("the lock of a program that %s is taken over", (_, holder) => {
  write({ ...holder, host: hostname() });
  lockFile(path);
  expect(fs.readdirSync(folder)).toEqual(["job.lock"]);
  expect(JSON.parse(fs.readFileSync(path, "utf8"))).toEqual({
    pid: process.pid,
    started: startOf(process.pid),
    host: hostname(),
  });
});

test("the lock of a program that has ended, and whose parent does not know it yet, is taken over", async () => {
  const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void parent.kill("SIGKILL"));
  const [line] = (await once(createInterface(parent.stdout), "line")) as [string];
  const pid = Number(line);
  const started = startOf(pid);
  process.kill(pid, "SIGKILL");
  await vi.waitUntil(() => stateOf(pid) === "Z", { timeout: 20_000 });
  write({ pid, started, host: hostname() });
  lockFile(path);
});

test.each([
  [
    "on another machine",
    { pid: 2 ** 22 + 1, started: "1", host: "elsewhere" },
    "process 4194305 on elsewhere",
  ],
  [
    "that does not know its start",
    { pid: process.pid, started: "", host: hostname() },
    `process ${process.pid}`,
  ],
  ["without a number", { started: "1", host: "elsewhere" }, "another program"],
  ["without a start", { pid: 1, host: "elsewhere" }, "another program"],
  ["without a machine", { pid: 1, started: "1" }, "another program"],
])("the lock of a program %s is respected", (_, holder, who) => {
  write(holder);
  const text = fs.readFileSync(path, "utf8");
  expect(() => lockFile(path)).toThrow(who);
  expect(fs.readFileSync(path, "utf8")).toBe(text);
});

test("a file that is no lock is respected", () => {
  fs.writeFileSync(path, "precious");
  expect(() => lockFile(path)).toThrow("another program is working on this job");
  expect(fs.readFileSync(path, "utf8")).toBe("precious");
});

test("someone else who takes over the same lock in the same moment keeps it", () => {
  const other = { pid: process.pid, started: startOf(process.pid), host: hostname() };
  write({ pid: 2 ** 22 + 1, started: "1", host: hostname() });
  beforeRename = () => write(other);
  expect(() => lockFile(path)).toThrow(`process ${process.pid}`);
  expect(fs.readdirSync(folder)).toEqual(["job.lock"]);
  expect(JSON.parse(fs.readFileSync(path, "utf8"))).toEqual(other);
});

test("a lock that someone else has just removed is free", () => {
  write({ pid: 2 ** 22 + 1, started: "1", host: hostname() });
  beforeRename = () => fs.rmSync(path);
  lockFile(path)();
});

test("a folder that does not exist is an error of the system", () => {
  expect(() => lockFile(join(folder, "missing", "job.lock"))).toThrow("ENOENT");
});

function write(holder: object): void {
  fs.writeFileSync(path, JSON.stringify(holder));
}

function statOf(pid: number): string[] {
  return fs
    .readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
}

function stateOf(pid: number): string | undefined {
  return statOf(pid)[0];
}

function startOf(pid: number): string | undefined {
  return statOf(pid)[19];
}

test("whatever else has the name of the lock keeps nobody waiting, and is not read", () => {
  const victim = join(folder, "victim");
  fs.writeFileSync(victim, JSON.stringify({ pid: 2 ** 30, started: "1", host: hostname() }));
  const puts = [
    () => execFileSync("mkfifo", [path]),
    () => fs.symlinkSync(victim, path),
    () => fs.symlinkSync("/dev/zero", path),
    () => fs.mkdirSync(path),
  ];
  for (const put of puts) {
    put();
    expect(() => lockFile(path)).toThrow(`another program is working on this job; if not, remove ${path}`);
    fs.rmSync(path, { recursive: true });
  }
});
