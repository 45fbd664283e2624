import { createHash, randomBytes } from "node:crypto";
import { closeSync, openSync, renameSync, symlinkSync, truncateSync, writeSync } from "node:fs";
import {
  appendFile,
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  truncate,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FileError } from "../../src/client/files/file-error.ts";
import type { TreeOptions, TreeProgress, TreeResult } from "../../src/client/files/trees.ts";
import type { Host } from "../../src/client/host/host.ts";
import { CODEX, OURS, usingTarget } from "./client-targets.ts";

const MIB = 1024 * 1024;
const RESUME = { resume: true, verify: true } as const;

let base: string;
let from: string;
let to: string;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "exec-server-copies-")));
  from = join(base, "from");
  to = join(base, "to");
  await mkdir(from);
});

afterEach(() => rm(base, { recursive: true, force: true }));

const digest = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

type Copy = (host: Host, from: string, to: string, options?: TreeOptions) => Promise<TreeResult>;

/** The three ways of a copy. Both ends of a transfer are on one machine here, which it does not know. */
const WAYS: readonly [string, Copy][] = [
  ["upload", (host, source, target, options) => host.files.upload(source, target, options)],
  ["download", (host, source, target, options) => host.files.download(source, target, options)],
  ["transfer", (host, source, target, options) => host.files.transfer(source, host.files, target, options)],
];

describe.each(WAYS)("%s", (_, copy) => {
  let host: Host;
  usingTarget(OURS.start, (connected) => {
    host = connected;
  });

  /** Copies until so many bytes have arrived, then fails as a killed program would: nothing is cleaned up in between. */
  const interrupted = async (source: string, bytes: number): Promise<void> => {
    const reason = new Error("enough");
    const onProgress = (progress: TreeProgress): void => {
      if (progress.bytes + (progress.keptBytes ?? 0) >= bytes) throw reason;
    };
    await expect(copy(host, source, to, { ...RESUME, onProgress })).rejects.toBe(reason);
  };

  it("takes a file, and a directory, with modes and links", async () => {
    await writeFile(join(from, "run"), "#!/bin/sh\n");
    await chmod(join(from, "run"), 0o750);
    await writeFile(join(from, "large"), randomBytes(3 * MIB + 1));
    await chmod(join(from, "large"), 0o440);
    await symlink("run", join(from, "current"));
    await mkdir(join(from, "d"), { mode: 0o700 });
    expect(await copy(host, join(from, "run"), to, RESUME)).toEqual({
      files: 1,
      directories: 0,
      links: 0,
      bytes: 10,
      keptBytes: 0,
      skipped: [],
      verified: true,
    });
    expect((await stat(to)).mode & 0o7777).toBe(0o750);
    await rm(to);
    expect(await copy(host, from, to, RESUME)).toMatchObject({ files: 2, directories: 2, links: 1 });
    expect(await readlink(join(to, "current"))).toBe("run");
    for (const entry of ["run", "large", "d"])
      expect((await stat(join(to, entry))).mode, entry).toBe((await stat(join(from, entry))).mode);
    expect((await readdir(to)).toSorted()).toEqual((await readdir(from)).toSorted());
  });

  it("a second time copies nothing, and repairs what differs", async () => {
    for (let index = 0; index < 300; index += 1) await writeFile(join(from, `f${index}`), `text ${index}`);
    await writeFile(join(from, "large"), randomBytes(2 * MIB));
    const first = await copy(host, from, to, RESUME);
    expect(first).toMatchObject({ files: 301, keptBytes: 0 });
    const again = await copy(host, from, to, RESUME);
    expect(again).toMatchObject({ files: 301, bytes: 0, keptBytes: first.bytes });
    await writeFile(join(to, "f7"), "TEXT 7");
    await chmod(join(to, "f8"), 0o600);
    await rm(join(to, "f9"));
    await truncate(join(to, "large"), MIB);
    const repaired = await copy(host, from, to, RESUME);
    expect(repaired).toMatchObject({ files: 301, bytes: 12 + 2 * MIB });
    expect(await readFile(join(to, "f7"), "utf8")).toBe("text 7");
    expect((await stat(join(to, "f8"))).mode & 0o777).toBe((await stat(join(from, "f8"))).mode & 0o777);
    expect(await digest(join(to, "large"))).toBe(await digest(join(from, "large")));
  });

  it("continues in the middle of a large file", async () => {
    const source = join(from, "large");
    await writeFile(source, randomBytes(12 * MIB + 3));
    await interrupted(source, 8 * MIB);
    const [part, ...others] = await readdir(base).then((names) => names.filter((entry) => entry !== "from"));
    expect(part).toMatch(/^\.exec-server-part-/);
    expect(others).toEqual([]);
    expect((await stat(join(base, part!))).mode & 0o777).toBe(0o600);
    const result = await copy(host, source, to, RESUME);
    expect(result.bytes + result.keptBytes!).toBe(12 * MIB + 3);
    expect(result.keptBytes).toBeGreaterThanOrEqual(3 * MIB);
    expect(await digest(to)).toBe(await digest(source));
    expect((await readdir(base)).toSorted()).toEqual(["from", "to"]);
  });

  it("does not trust a part: what differs from the source is copied again", async () => {
    const source = join(from, "large");
    await writeFile(source, randomBytes(12 * MIB));
    await interrupted(source, 11 * MIB);
    const part = join(base, (await readdir(base)).find((entry) => entry.startsWith(".exec-server-part-"))!);
    const bytes = await readFile(part);
    bytes[5 * MIB] = 255 - bytes[5 * MIB]!;
    await writeFile(part, bytes);
    const result = await copy(host, source, to, RESUME);
    expect(result.keptBytes).toBe(4 * MIB);
    expect(await digest(to)).toBe(await digest(source));
  });

  it("a source that was changed since begins again, and leaves no part of the old one", async () => {
    const source = join(from, "large");
    await writeFile(source, randomBytes(6 * MIB));
    await interrupted(source, 3 * MIB);
    await writeFile(source, randomBytes(6 * MIB));
    await utimes(source, 1_000_000, 1_000_000);
    expect(await copy(host, source, to, RESUME)).toMatchObject({ bytes: 6 * MIB, keptBytes: 0 });
    expect(await digest(to)).toBe(await digest(source));
    expect((await readdir(base)).toSorted()).toEqual(["from", "to"]);
  });

  it("continues with a tree", async () => {
    for (let index = 0; index < 100; index += 1)
      await writeFile(join(from, `f${index}`), randomBytes(20_000));
    await interrupted(from, 1_000_000);
    const result = await copy(host, from, to, RESUME);
    expect(result).toMatchObject({ files: 100, directories: 1 });
    expect(result.keptBytes).toBeGreaterThanOrEqual(900_000);
    expect(result.bytes + result.keptBytes!).toBe(2_000_000);
    for (let index = 0; index < 100; index += 1)
      expect(await digest(join(to, `f${index}`))).toBe(await digest(join(from, `f${index}`)));
  });

  it("writes nothing through links of the destination", async () => {
    const outside = join(base, "outside");
    await mkdir(outside);
    await writeFile(join(outside, "f"), "untouched");
    for (const entry of ["f", "broken"]) await writeFile(join(from, entry), "new text!");
    await writeFile(join(from, "large"), randomBytes(2 * MIB));
    await mkdir(to);
    await symlink(join(outside, "f"), join(to, "f"));
    await symlink(join(outside, "new"), join(to, "broken"));
    await symlink(join(outside, "f"), join(to, "large"));
    await copy(host, from, to, { ...RESUME, remoteLinks: "replace" });
    for (const entry of ["f", "broken", "large"]) {
      expect((await lstat(join(to, entry))).isFile(), entry).toBe(true);
      expect(await digest(join(to, entry)), entry).toBe(await digest(join(from, entry)));
    }
    await mkdir(join(from, "d"));
    await writeFile(join(from, "d/f"), "text");
    await symlink(outside, join(to, "d"));
    await expect(copy(host, from, to, { ...RESUME, remoteLinks: "replace" })).rejects.toMatchObject({
      path: join(to, "d"),
      message: expect.stringContaining("it is a symbolic link, which is not followed") as string,
    });
    expect(await readdir(outside)).toEqual(["f"]);
    expect(await readFile(join(outside, "f"), "utf8")).toBe("untouched");
  });

  it("writes nothing through a link that takes the place of a directory meanwhile", async () => {
    const outside = join(base, "outside");
    await mkdir(outside, { mode: 0o711 });
    await mkdir(join(from, "d/inner"), { recursive: true });
    for (let index = 0; index < 60; index += 1) await writeFile(join(from, `d/f${index}`), "new text!");
    await writeFile(join(from, "d/inner/f"), "new text!");
    await writeFile(join(from, "d/z-large"), randomBytes(2 * MIB));
    await symlink("f1", join(from, "d/link"));
    await writeFile(join(outside, "f59"), "untouched", { mode: 0o600 });
    let isSwapped = false;
    const onProgress = ({ path }: TreeProgress): void => {
      if (isSwapped || !path.startsWith("d/")) return;
      isSwapped = true;
      renameSync(join(to, "d"), join(to, "moved"));
      symlinkSync(outside, join(to, "d"));
    };
    const failed: string[] = [];
    const onError = (_: FileError, path: string): unknown => failed.push(path);
    await copy(host, from, to, { ...RESUME, remoteLinks: "replace", onProgress, onError });
    expect(failed).toEqual(expect.arrayContaining(["d/f59", "d/link", "d/z-large"]));
    expect(await readdir(outside)).toEqual(["f59"]);
    expect(await readFile(join(outside, "f59"), "utf8")).toBe("untouched");
    expect((await stat(outside)).mode & 0o777).toBe(0o711);
    expect((await stat(join(outside, "f59"))).mode & 0o777).toBe(0o600);
  });

  it("refuses what another has put in the place of a part", async () => {
    const source = join(from, "large");
    await writeFile(source, randomBytes(4 * MIB));
    await interrupted(source, 2 * MIB);
    const part = join(base, (await readdir(base)).find((entry) => entry.startsWith(".exec-server-part-"))!);
    const victim = join(base, "victim");
    await writeFile(victim, "untouched");
    for (const plant of [symlink, link]) {
      await rm(part);
      await plant(victim, part);
      await expect(copy(host, source, to, RESUME)).rejects.toMatchObject({ name: "FileError" });
      expect(await readFile(victim, "utf8")).toBe("untouched");
    }
  });

  it("reports what cannot be copied, and copies the rest", async () => {
    for (const entry of ["a", "b", "c"]) await writeFile(join(from, entry), entry);
    await mkdir(join(from, "d"));
    await writeFile(join(from, "d/e"), "e");
    await mkdir(join(to, "b"), { recursive: true });
    await writeFile(join(to, "d"), "in the way");
    const failed: [string, FileError][] = [];
    const result = await copy(host, from, to, {
      ...RESUME,
      onError: (error, path) => failed.push([path, error]),
    });
    expect(result).toMatchObject({ files: 2, directories: 1 });
    expect(failed.map(([path]) => path).toSorted()).toEqual(["b", "d"]);
    expect(failed.map(([, { path }]) => path).toSorted()).toEqual([join(to, "b"), join(to, "d")]);
    expect(await readFile(join(to, "c"), "utf8")).toBe("c");
  });

  it("a file that is changed while it is copied is not taken for a good copy", async () => {
    const source = join(from, "large");
    await writeFile(source, randomBytes(10 * MIB));
    let changes = 0;
    const onProgress = ({ bytes }: TreeProgress): void => {
      if (bytes < 8 * MIB || changes > 0) return;
      changes += 1;
      void appendFile(source, "more");
    };
    const result = await copy(host, source, to, { ...RESUME, onProgress });
    expect(result.verified).toBe(true);
    expect(
      (await readFile(to)).subarray(0, 10 * MIB).equals((await readFile(source)).subarray(0, 10 * MIB)),
    ).toBe(true);
  });

  it("a file that becomes shorter while it is copied is an error, and does not take the place of the copy", async () => {
    const source = join(from, "large");
    await writeFile(source, randomBytes(40 * MIB));
    await writeFile(to, "as it was");
    let isCut = false;
    const onProgress = ({ bytes }: TreeProgress): void => {
      if (bytes < 4 * MIB || isCut) return;
      isCut = true;
      truncateSync(source, 2 * MIB);
    };
    await expect(copy(host, source, to, { ...RESUME, onProgress })).rejects.toMatchObject({
      message: expect.stringMatching(/it changed while it was being copied|differs/) as string,
    });
    expect(await readFile(to, "utf8")).toBe("as it was");
  });

  it("a file that is overwritten while it is copied is an error", async () => {
    const source = join(from, "large");
    await writeFile(source, randomBytes(40 * MIB));
    let isChanged = false;
    const onProgress = ({ bytes }: TreeProgress): void => {
      if (bytes < 4 * MIB || isChanged) return;
      isChanged = true;
      const file = openSync(source, "r+");
      writeSync(file, "changed", 0);
      closeSync(file);
    };
    await expect(copy(host, source, to, { ...RESUME, onProgress })).rejects.toMatchObject({
      message: expect.stringMatching(/it changed while it was being copied|differs/) as string,
    });
  });

  it("twice at once gives one whole file", async () => {
    const source = join(from, "large");
    await writeFile(source, randomBytes(10 * MIB));
    await Promise.all([copy(host, source, to, RESUME), copy(host, source, to, RESUME)]);
    expect(await digest(to)).toBe(await digest(source));
    expect((await readdir(base)).toSorted()).toEqual(["from", "to"]);
  });
});

describe.each([
  ["this server", OURS.start],
  ["Codex's server", CODEX.start],
])("of %s", (_, start) => {
  let host: Host;
  usingTarget(start, (connected) => {
    host = connected;
  });

  it("many files at once, large and small, do not get each other's bytes", async () => {
    const names = Array.from({ length: 30 }, (_, index) => `f${index}`);
    const size = (index: number): number => (index < 4 ? 5 * MIB + index : 1 + index * 34_000);
    for (const [index, name] of names.entries()) await writeFile(join(from, name), randomBytes(size(index)));
    const kept: Uint8Array[] = [];
    const keepAll = async (): Promise<void> => {
      for await (const block of host.files.readStream(join(from, "f0"))) kept.push(block);
    };
    const [, whole] = await Promise.all([
      host.files.downloadTree(from, to, { concurrency: 24 }),
      host.files.read(join(from, "f1")),
      keepAll(),
      host.files.download(join(from, "f2"), join(base, "again")),
    ]);
    for (const name of names) expect(await digest(join(to, name))).toBe(await digest(join(from, name)));
    expect(await digest(join(base, "again"))).toBe(await digest(join(from, "f2")));
    expect(Buffer.concat(kept).equals(await readFile(join(from, "f0")))).toBe(true);
    expect(Buffer.from(whole).equals(await readFile(join(from, "f1")))).toBe(true);
  });
});

describe("a server without hashes", () => {
  let host: Host;
  usingTarget(CODEX.start, (connected) => {
    host = connected;
  });

  it.each(WAYS)("still gets everything with %s, unchecked", async (_, copy) => {
    await writeFile(join(from, "f"), "text");
    await writeFile(join(from, "large"), randomBytes(3 * MIB));
    expect(await copy(host, from, to, RESUME)).toMatchObject({ files: 2, verified: false, keptBytes: 0 });
    expect(await digest(join(to, "large"))).toBe(await digest(join(from, "large")));
    expect((await readdir(to)).toSorted()).toEqual(["f", "large"]);
  });
});
