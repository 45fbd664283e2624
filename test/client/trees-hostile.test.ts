import {
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
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileError } from "../../src/client/files/file-error.ts";
import type { Host } from "../../src/client/host/host.ts";
import { ProtocolError } from "../../src/base/errors.ts";
import { inTime, open } from "./fake-hosts.ts";
import { FakeServer, someEnvironment } from "./fake-server.ts";

// A server that wants to write where it was not asked to.

const EXTENSIONS = [
  "fs/chmod",
  "fs/getMetadata.includeMode",
  "fs/readDirectory.detailed",
  "fs/readLink",
  "fs/writeFile.mode",
];
const EVIL = "written by the server";

let base: string;
let target: string;
let outside: string;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "exec-server-hostile-trees-")));
  target = join(base, "target");
  outside = join(base, "outside");
  await mkdir(target);
  await mkdir(outside);
  await writeFile(join(outside, "f"), "untouched");
});

afterEach(async () => {
  expect(await readdir(outside)).toEqual(["f"]);
  expect(await readFile(join(outside, "f"), "utf8")).toBe("untouched");
  expect((await readdir(base)).toSorted()).toEqual(["outside", "target"]);
  await rm(base, { recursive: true, force: true });
});

const entry = (fileName: string, more: object = {}) => ({
  fileName,
  isDirectory: false,
  isFile: false,
  isSymlink: false,
  mode: 0o755,
  size: EVIL.length,
  ...more,
});
const file = (name: string, more: object = {}) => entry(name, { isFile: true, ...more });
const directory = (name: string) => entry(name, { isDirectory: true });
const link = (name: string) => entry(name, { isSymlink: true });

/**
 * A server whose directories have these entries, by their paths below `/r`. Every link leads to `outside`, every file
 * has the same contents.
 */
async function lying(
  listings: Readonly<Record<string, readonly object[]>>,
  extensions: readonly string[] = EXTENSIONS,
  linkText = outside,
): Promise<Host> {
  const server = new FakeServer();
  server.answers.set("initialize", () => ({
    sessionId: "s",
    environmentInfo: { ...someEnvironment, extensions },
  }));
  const stat = { isFile: false, isSymlink: false, size: 1, createdAtMs: 0, modifiedAtMs: 0, mode: 0o755 };
  server.answers.set("fs/getMetadata", () => ({ ...stat, isDirectory: true }));
  server.answers.set("fs/readDirectory", ({ path }) => ({
    entries: listings[String(path).replace(/^file:\/\/\/r\/?/, "")] ?? [],
  }));
  server.answers.set("fs/readFile", () => ({ dataBase64: Buffer.from(EVIL).toString("base64") }));
  server.answers.set("fs/readLink", () => ({ target: linkText }));
  return open(server);
}

const download = async (
  listings: Readonly<Record<string, readonly object[]>>,
  extensions?: readonly string[],
) => inTime((await lying(listings, extensions)).files.downloadTree("/r", target), "the download");

describe("a server cannot make downloadTree write elsewhere", () => {
  it.each(["..", "../outside/f", "a/b", "/etc", ".", "", "a\0b"])("by the name %j", async (name) => {
    for (const entries of [[file(name)], [directory(name)], [link(name)]]) {
      await expect(download({ "": entries })).rejects.toBeInstanceOf(ProtocolError);
      await expect(download({ "": entries }, [])).rejects.toBeInstanceOf(ProtocolError);
    }
    expect(await readdir(target)).toEqual([]);
  });

  it("by a link and a directory of one name", async () => {
    for (const entries of [
      [link("x"), directory("x")],
      [directory("x"), link("x")],
      [link("x"), file("x")],
    ])
      await expect(download({ "": entries, x: [file("f")] })).rejects.toThrow('named "x" twice');
    expect(await readdir(target)).toEqual([]);
  });

  it("by a link that was made by an earlier download", async () => {
    await download({ "": [link("x")] });
    expect(await readlink(join(target, "x"))).toBe(outside);
    await expect(download({ "": [directory("x")], x: [file("f")] })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      path: join(target, "x"),
      message: expect.stringContaining("is a symbolic link, which is not followed") as string,
    });
    // A file takes the place of the link.
    await download({ "": [file("x")] });
    expect(await readFile(join(target, "x"), "utf8")).toBe(EVIL);
  });

  it("through links that are in the directory, whether they lead to something or not", async () => {
    await symlink(join(outside, "f"), join(target, "f"));
    await symlink(join(outside, "new"), join(target, "new"));
    await symlink(outside, join(target, "d"));
    await download({ "": [file("f"), file("new")] });
    for (const name of ["f", "new"]) {
      expect((await lstat(join(target, name))).isFile()).toBe(true);
      expect(await readFile(join(target, name), "utf8")).toBe(EVIL);
    }
    await expect(download({ "": [directory("d")], d: [file("f")] })).rejects.toBeInstanceOf(FileError);
    await expect(download({ "": [directory("d")], d: [link("l")] })).rejects.toBeInstanceOf(FileError);
    expect(await readlink(join(target, "d"))).toBe(outside);
  });

  it("by links beside the files that are still to come", async () => {
    const entries = [link("a"), directory("b"), link("c")];
    const result = await download({
      "": entries,
      b: [link("a"), file("f"), directory("d")],
      "b/d": [file("g")],
    });
    expect(result).toMatchObject({ files: 2, directories: 3, links: 3 });
    expect((await readdir(target)).toSorted()).toEqual(["a", "b", "c"]);
    expect(await readFile(join(target, "b/d/g"), "utf8")).toBe(EVIL);
  });

  it("by a link in the place of a directory", async () => {
    await mkdir(join(target, "d"));
    await expect(download({ "": [link("d")] })).rejects.toMatchObject({ path: join(target, "d") });
    expect((await lstat(join(target, "d"))).isDirectory()).toBe(true);
    expect(await readdir(target)).toEqual(["d"]);
  });
});

it.each(["", "a\0b"])("a link with the text %j is a fault of the server", async (text) => {
  const host = await lying({ "": [link("x")] }, EXTENSIONS, text);
  await expect(inTime(host.files.downloadTree("/r", target), "the download")).rejects.toBeInstanceOf(
    ProtocolError,
  );
  expect(await readdir(target)).toEqual([]);
});

it("a download gives no file rights beyond read, write and execute", async () => {
  await download({ "": [file("f", { mode: 0o7777 }), file("g", { mode: 2 ** 40 + 0o4755 })] });
  expect((await stat(join(target, "f"))).mode & 0o7777).toBe(0o777);
  expect((await stat(join(target, "g"))).mode & 0o7777).toBe(0o755);
});

it("directories without end come to the end of what a path can be", async () => {
  const name = "n".repeat(200);
  const listings = new Proxy({}, { get: () => [directory(name)] });
  await expect(download(listings)).rejects.toMatchObject({ errno: "ENAMETOOLONG" });
});
