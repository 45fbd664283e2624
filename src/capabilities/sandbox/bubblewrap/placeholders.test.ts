import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { tryToLockOpen } from "../../../native/file-lock.ts";
import { libc } from "../../../native/libc.ts";
import { Placeholders } from "./placeholders.ts";

let directory: string;
const at = (name: string): string => join(directory, name);

const view = (names: Partial<Record<"absent" | "absentFile" | "readOnly" | "hiddenFile", string[]>>) => ({
  mounts: Object.entries(names).flatMap(([kind, all]) =>
    all.map((name) => ({ kind: kind as keyof typeof names, path: at(name) })),
  ),
});

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "placeholders-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("exist as long as a sandbox needs them", async () => {
  const placeholders = new Placeholders();
  const first = await placeholders.hold(view({ absent: ["a", "b"] }));
  const second = await placeholders.hold(view({ absent: ["a"], readOnly: ["b"] }));
  first();
  expect([existsSync(at("a")), existsSync(at("b"))]).toEqual([true, true]);
  second();
  expect([existsSync(at("a")), existsSync(at("b"))]).toEqual([false, false]);
});

it("are made where the file system has no locks, and stay, because others may need them", async () => {
  const system = libc();
  vi.spyOn(system, "flock").mockReturnValue(-1);
  vi.spyOn(system, "errno").mockReturnValue(constants.errno.EOPNOTSUPP);
  try {
    const release = await new Placeholders().hold(view({ absent: ["a"] }));
    release();
  } finally {
    vi.restoreAllMocks();
  }
  expect(existsSync(at("a"))).toBe(true);
});

it("are made again if somebody has removed them", async () => {
  const placeholders = new Placeholders();
  const first = await placeholders.hold(view({ absent: ["a"] }));
  rmdirSync(at("a"));
  const second = await placeholders.hold(view({ absent: ["a"] }));
  first();
  expect(existsSync(at("a"))).toBe(true);
  second();
  expect(existsSync(at("a"))).toBe(false);
});

it("stay if they have become someone else's: something is in them, or they existed before", async () => {
  const placeholders = new Placeholders();
  mkdirSync(at("old"));
  const release = await placeholders.hold(view({ absent: ["a", "old"] }));
  writeFileSync(at("a/f"), "");
  release();
  expect([existsSync(at("a")), existsSync(at("old"))]).toEqual([true, true]);
});

it("are not removed where a link leads that has taken the place of their directory", async () => {
  const placeholders = new Placeholders();
  for (const name of ["in", "out", "out/a"]) mkdirSync(at(name));
  const release = await placeholders.hold(view({ absent: ["in/a"] }));
  renameSync(at("in"), at("moved"));
  symlinkSync("out", at("in"));
  release();
  expect(existsSync(at("out/a"))).toBe(true);
});

it("that cannot be created are refused by their name, and those before them are gone", async () => {
  const placeholders = new Placeholders();
  await expect(placeholders.hold(view({ absent: ["first", "missing/a"] }))).rejects.toThrow(
    `a sandbox cannot reserve the name ${at("missing/a")}: ENOENT`,
  );
  expect(existsSync(at("first"))).toBe(false);
});

it("for files are files, which disappear unless somebody has written them", async () => {
  const placeholders = new Placeholders();
  const first = await placeholders.hold(view({ absentFile: ["kept", "log", "token"] }));
  expect(statSync(at("token")).mode & 0o7777).toBe(0o600);
  const second = await placeholders.hold(view({ hiddenFile: ["kept"] }));
  writeFileSync(at("log"), "a line\n");
  writeFileSync(at("new"), "");
  renameSync(at("new"), at("token"));
  first();
  expect(readdirSync(directory).toSorted()).toEqual(["kept", "log", "token"]);
  second();
  expect(readdirSync(directory).toSorted()).toEqual(["log", "token"]);
});

describe("of several servers", () => {
  const servers = () => [new Placeholders(), new Placeholders()] as const;

  it("disappear with the last sandbox that needs them, whichever server has made them", async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const releases = [];
      for (const server of servers()) releases.push(await server.hold(view({ absent: [".git", "other"] })));
      releases[order[0]!]!();
      expect([existsSync(at(".git")), existsSync(at("other"))]).toEqual([true, true]);
      releases[order[1]!]!();
      expect(existsSync(at(".git"))).toBe(false);
      rmSync(at("other"), { recursive: true, force: true });
    }
  });

  it("are removed by the next one if the server was killed that made them", async () => {
    const [one] = servers();
    mkdirSync(at(".codex"), 0o1755);
    (await one.hold(view({ absent: [".codex"] })))();
    expect(existsSync(at(".codex"))).toBe(false);
  });

  it("are not confused with empty directories of others, also with the same mode", async () => {
    const [one] = servers();
    mkdirSync(at(".git"));
    mkdirSync(at("tmp"));
    chmodSync(at("tmp"), 0o1777);
    (await one.hold(view({ absent: [".git", "tmp"] })))();
    expect([existsSync(at(".git")), existsSync(at("tmp"))]).toEqual([true, true]);
  });

  it("can be locked by servers of other users, whatever the umask", async () => {
    const before = process.umask(0o077);
    try {
      const release = await servers()[0].hold(view({ absent: [".git"] }));
      expect(statSync(at(".git")).mode & 0o7777).toBe(0o1755);
      release();
    } finally {
      process.umask(before);
    }
  });

  it("that one of them is removing are waited for, and made again", async () => {
    const [one] = servers();
    mkdirSync(at(".git"), 0o1755);
    const fd = openSync(at(".git"), "r");
    expect(tryToLockOpen(fd)).toBe(true);
    const holding = one.hold(view({ absent: [".git"] }));
    rmdirSync(at(".git"));
    closeSync(fd);
    const release = await holding;
    expect(existsSync(at(".git"))).toBe(true);
    release();
    expect(existsSync(at(".git"))).toBe(false);
  });

  it("that stay locked are refused by their name", async () => {
    const [one] = servers();
    mkdirSync(at(".git"));
    const fd = openSync(at(".git"), "r");
    expect(tryToLockOpen(fd)).toBe(true);
    await expect(one.hold(view({ absent: [".git"] }))).rejects.toThrow(
      `a sandbox cannot reserve the name ${at(".git")}: another program has locked it`,
    );
    closeSync(fd);
  });

  it("never leave a sandbox without its mount points, however starts and ends meet", async () => {
    const [one, other] = servers();
    const turn = async (server: Placeholders): Promise<void> => {
      for (let round = 0; round < 100; round += 1) {
        const release = await server.hold(view({ absent: [".git"] }));
        const made = statSync(at(".git")).ino;
        await setImmediate();
        expect(statSync(at(".git")).ino).toBe(made);
        release();
      }
    };
    await Promise.all([one, other, one, other].map(turn));
    expect(existsSync(at(".git"))).toBe(false);
  });
});

it("are never made, nor removed, behind a link that has taken the place of their directory", async () => {
  const placeholders = new Placeholders();
  for (const name of ["work", "victim"]) mkdirSync(at(name));
  const release = await placeholders.hold(view({ absent: ["work/held"] }));
  renameSync(at("work"), at("aside"));
  symlinkSync("victim", at("work"));
  mkdirSync(at("victim/held"));
  await expect(placeholders.hold(view({ absent: ["work/new"] }))).rejects.toThrow("was replaced");
  release();
  expect(readdirSync(at("victim"))).toEqual(["held"]);
});
