import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { renameSync, rmSync, symlinkSync, truncateSync } from "node:fs";
import {
  appendFile,
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { MirrorOptions, TreeOptions, TreeResult } from "../../src/client/files/trees.ts";
import type { Host } from "../../src/client/host/host.ts";
import { CODEX, OURS, usingTarget } from "./client-targets.ts";

const MIB = 1024 * 1024;

let base: string;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "exec-server-mirror-")));
  await mkdir(at("from"));
});

afterEach(() => rm(base, { recursive: true, force: true }));

const at = (...names: string[]): string => join(base, ...names);

/** A line for each entry below a directory, with its mode, and its contents or where it leads. */
async function describeTree(directory: string): Promise<string[]> {
  const lines: string[] = [];
  for (const name of await readdir(directory, { recursive: true })) {
    const path = join(directory, name);
    const stats = await lstat(path);
    const contents = stats.isSymbolicLink()
      ? await readlink(path)
      : stats.isFile()
        ? (await readFile(path)).toString("base64url").slice(0, 100)
        : "";
    lines.push(`${JSON.stringify(name)} ${(stats.mode & 0o7777).toString(8)} ${contents}`);
  }
  return lines.toSorted();
}

/** Makes files, and the directories that they are in. A name with `/` at its end is a directory. */
async function make(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, contents] of Object.entries(files)) {
    await mkdir(join(directory, name.endsWith("/") ? name : join(name, "..")), { recursive: true });
    if (!name.endsWith("/")) await writeFile(join(directory, name), contents);
  }
}

type Copy = (host: Host, options: TreeOptions) => Promise<TreeResult>;

/** The three ways of a copy. Both ends of a transfer are on one machine here, which it does not know. */
const WAYS: readonly [string, Copy][] = [
  ["upload", (host, options) => host.files.upload(at("from"), at("to"), options)],
  ["download", (host, options) => host.files.download(at("from"), at("to"), options)],
  ["transfer", (host, options) => host.files.transfer(at("from"), host.files, at("to"), options)],
];

describe.each(WAYS)("a mirror by %s", (_, copy) => {
  let host: Host;
  usingTarget(OURS.start, (connected) => {
    host = connected;
  });

  const mirror = async (
    mirror: MirrorOptions = {},
    options: TreeOptions = {},
  ): Promise<TreeResult & { changes: string[] }> => {
    const changes: string[] = [];
    const onChange: MirrorOptions["onChange"] = ({ action, path }) => void changes.push(`${action} ${path}`);
    const result = await copy(host, { verify: true, ...options, mirror: { onChange, ...mirror } });
    return { ...result, changes: changes.toSorted() };
  };

  it("makes the destination like the source, and copies only what differs", async () => {
    await make(at("from"), { a: "a", "d/b": "b", "d/run": "#!", "empty/": "", "e/deep/f": "f" });
    await writeFile(at("from/large"), randomBytes(2 * MIB + 1));
    await chmod(at("from/d/run"), 0o750);
    await chmod(at("from/d"), 0o711);
    await symlink("../a", at("from/d/link"));
    await symlink("/nowhere", at("from/broken"));
    const first = await mirror();
    expect(first).toMatchObject({ files: 5, links: 2, same: 0, deleted: 0, verified: true });
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
    expect(await mirror()).toMatchObject({
      files: 0,
      directories: 0,
      links: 0,
      bytes: 0,
      same: 7,
      changes: [],
    });
    // The same size.
    await writeFile(at("from/d/b"), "B");
    await appendFile(at("from/large"), "more");
    await chmod(at("from/a"), 0o600);
    await chmod(at("from/empty"), 0o700);
    await rm(at("from/broken"));
    await symlink("/elsewhere", at("from/broken"));
    expect((await mirror()).changes).toEqual([
      "copy d/b",
      "copy large",
      "link broken",
      "mode a",
      "mode empty",
    ]);
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
  });

  it("deletes only on request, at the end, and never through links", async () => {
    await make(at("from"), { a: "a", "d/b": "b" });
    await make(at("to"), { old: "old", "d/old": "old", "gone/deep/x": "x" });
    await make(at("outside"), { f: "untouched" });
    await symlink(at("outside"), at("to/link"));
    await symlink(at("outside"), at("to/gone/deep/link"));
    const before = ["a", "d", "gone", "link", "old"];
    expect((await mirror()).changes).toEqual(["copy a", "copy d/b"]);
    expect((await readdir(at("to"))).toSorted()).toEqual(before);
    const { deleted, changes } = await mirror({ delete: true });
    expect(changes).toEqual(["delete d/old", "delete gone", "delete link", "delete old"]);
    expect(deleted).toBe(4);
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
    expect(await readFile(at("outside/f"), "utf8")).toBe("untouched");
  });

  it("deletes and changes nothing through a link that takes the place of a directory meanwhile", async () => {
    await make(at("from"), { "d/a": "a", "d/same": "same", "d/z": "z" });
    await make(at("to"), { "d/precious": "bait", "d/deep/precious": "bait", "d/same": "same" });
    await chmod(at("to/d/same"), 0o600);
    await chmod(at("from/d/same"), 0o666);
    await make(at("outside"), { precious: "precious", "deep/precious": "precious", same: "same" });
    await chmod(at("outside/same"), 0o400);
    const before = await describeTree(at("outside"));
    let isSwapped = false;
    const onProgress = (): void => {
      if (isSwapped) return;
      isSwapped = true;
      renameSync(at("to/d"), at("to/moved"));
      symlinkSync(at("outside"), at("to/d"));
    };
    const failed: string[] = [];
    await mirror({ delete: true }, { onProgress, onError: (_, path) => failed.push(path) });
    expect(failed).toEqual(expect.arrayContaining(["d/deep", "d/precious"]));
    expect(await describeTree(at("outside"))).toEqual(before);
  });

  it("reports in a dry run what would be changed, and changes nothing", async () => {
    await make(at("from"), { a: "a", same: "s", "new/b": "b", kind: "file" });
    await make(at("to"), { a: "A", same: "s", "old/x": "x", "kind/inner": "x" });
    await symlink("a", at("from/link"));
    const before = await describeTree(at("to"));
    const dry = await mirror({ delete: true, dryRun: true });
    expect(dry.changes).toEqual([
      "copy a",
      "copy kind",
      "copy new/b",
      "create new",
      "delete kind",
      "delete old",
      "link link",
    ]);
    expect(await describeTree(at("to"))).toEqual(before);
    expect(await mirror({ delete: true })).toEqual(dry);
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
    await rm(at("to"), { recursive: true });
    expect((await mirror({ dryRun: true })).changes).toContain("copy new/b");
    await expect(lstat(at("to"))).rejects.toThrow("ENOENT");
  });

  it("refuses to delete everything because the source is empty", async () => {
    await make(at("to"), { a: "a" });
    await expect(mirror({ delete: true })).rejects.toThrow(
      "it is empty, so everything in the destination would be deleted",
    );
    await expect(mirror({ delete: true, only: ["a"] })).rejects.toThrow("it is empty");
    expect(await readdir(at("to"))).toEqual(["a"]);
    expect((await mirror({ delete: true, deleteAll: true })).changes).toEqual(["delete a"]);
    await rm(at("from"), { recursive: true });
    await make(at("to"), { a: "a" });
    await expect(mirror({ delete: true, deleteAll: true })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await readdir(at("to"))).toEqual(["a"]);
  });

  it("replaces what has become something else", async () => {
    await make(at("from"), { "a/inner": "1", b: "file", "c/inner": "2", d: "3", fifo: "4" });
    await symlink("elsewhere", at("from/e"));
    await make(at("to"), { a: "file", "b/": "", d: "x", "e/": "" });
    await make(at("outside"), { inner: "untouched" });
    await symlink(at("outside"), at("to/c"));
    await rm(at("to/d"));
    await symlink(at("outside/inner"), at("to/d"));
    execFileSync("mkfifo", [at("to/fifo")]);
    await mirror();
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
    expect(await readFile(at("outside/inner"), "utf8")).toBe("untouched");
    // A directory with contents only if it may be deleted.
    await rm(at("to/b"));
    await make(at("to"), { "b/precious": "x" });
    const errors: string[] = [];
    await mirror({}, { onError: ({ message }) => void errors.push(message) });
    expect(errors).toEqual([expect.stringMatching(/b: a non-empty directory is in its place$/)]);
    expect(await readFile(at("to/b/precious"), "utf8")).toBe("x");
    await mirror({ delete: true });
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
  });

  it("neither copies nor deletes what the filter excludes", async () => {
    await make(at("from"), { a: "a", "x.log": "from", "build/out": "from", "d/y.log": "from" });
    await make(at("to"), {
      "x.log": "to",
      "old.log": "to",
      old: "to",
      "gone/deep/z.log": "to",
      "gone/deep/z": "to",
      "gone/all/z": "to",
    });
    const filter: TreeOptions["filter"] = ({ path }) => !path.endsWith(".log") && path !== "build";
    const { changes } = await mirror({ delete: true }, { filter });
    expect(changes).toEqual(["copy a", "create d", "delete gone/all", "delete gone/deep/z", "delete old"]);
    expect(await readFile(at("to/x.log"), "utf8")).toBe("to");
    expect((await readdir(at("to"), { recursive: true })).toSorted()).toEqual(
      ["a", "d", "gone", "gone/deep", "gone/deep/z.log", "old.log", "x.log"].toSorted(),
    );
    expect((await mirror({ delete: true }, { filter })).changes).toEqual([]);
  });

  it("looks only at some paths", async () => {
    await make(at("from"), { a: "1", b: "1", "d/x": "1", "d/y": "1", "new/deep/z": "1" });
    await make(at("to"), { a: "0", b: "0", "d/x": "0", "d/y": "0", old: "0", "d/old": "0" });
    const only = ["a", "d/x", "d/old", "new/deep/z", "missing/deep", "d/nothing"];
    expect((await mirror({ delete: true, only })).changes).toEqual([
      "copy a",
      "copy d/x",
      "copy new/deep/z",
      "create new",
      "create new/deep",
      "delete d/old",
    ]);
    for (const path of ["..", "a/../b", "/a", "a//b", "a/"])
      await expect(mirror({ only: [path] })).rejects.toMatchObject({ code: "USAGE" });
  });

  it("is not led astray by names and links", async () => {
    const names = ["a\nb", "...", " ", "-rf", "*", "c:d", "\u001b[31m", "..\\x", "é"];
    for (const name of names) await writeFile(at("from", name), name);
    await make(at("outside"), { f: "untouched" });
    await symlink(at("outside"), at("from/out"));
    await symlink("../../../../etc", at("from/up"));
    await mirror({ delete: true });
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
    await rm(at("from/out"));
    await make(at("from"), { "out/f": "new" });
    for (const name of names) await rm(at("from", name));
    await mirror({ delete: true });
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
    expect(await readFile(at("outside/f"), "utf8")).toBe("untouched");
  });

  it("finishes what was interrupted, but leaves the mode of a directory that was there", async () => {
    await make(at("from"), { "d/a": "1", "d/b": "2" });
    await chmod(at("from"), 0o750);
    const enough = new Error("enough");
    const onProgress: TreeOptions["onProgress"] = ({ files }) => {
      if (files === 1) throw enough;
    };
    await expect(mirror({}, { onProgress, concurrency: 1 })).rejects.toBe(enough);
    expect((await lstat(at("to"))).mode & 0o7777).toBe(0o1700);
    expect(await mirror()).toMatchObject({ files: 1, same: 1 });
    expect(await describeTree(at("to"))).toEqual(await describeTree(at("from")));
    expect((await lstat(at("to"))).mode & 0o7777).toBe(0o750);
    await chmod(at("to"), 0o755);
    expect((await mirror()).changes).toEqual([]);
    expect((await lstat(at("to"))).mode & 0o7777).toBe(0o755);
  });

  it("does not mind what vanishes or changes meanwhile", async () => {
    await writeFile(at("from/changing"), randomBytes(3 * MIB));
    await make(at("from"), { a: "a", "d/b": "b" });
    const errors: string[] = [];
    let changes = 0;
    const result = await mirror(
      {
        onChange: ({ path }) => {
          if (path === "a") rmSync(at("from/a"));
          if (path === "d") rmSync(at("from/d"), { recursive: true });
        },
      },
      {
        concurrency: 1,
        onError: ({ message }) => void errors.push(message),
        onProgress: ({ path }) => {
          if (path !== "changing" || changes > 0) return;
          changes += 1;
          truncateSync(at("from/changing"), MIB);
        },
      },
    );
    expect({ errors, changes, files: result.files }).toEqual({ errors: [], changes: 1, files: 1 });
    // What was copied of the earlier version is not left behind.
    expect((await readdir(at("to"))).toSorted()).toEqual(["changing", "d"]);
    expect((await readFile(at("to/changing"))).equals(await readFile(at("from/changing")))).toBe(true);
  });
});

describe("a mirror on a server that cannot compute hashes", () => {
  let host: Host;
  usingTarget(CODEX.start, (connected) => {
    host = connected;
  });

  it("is refused", async () => {
    const mirror = host.files.upload(at("from"), at("to"), { mirror: {} });
    await expect(mirror).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });
});
