import { closeSync, existsSync, linkSync, mkdirSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { readlinkSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { wanted } from "../../../test/fixtures/wanted.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { chmod } from "./chmod.ts";
import { copy } from "./copy.ts";
import { createDirectory } from "./directories.ts";
import { FileHandles } from "./file-handles.ts";
import { hashFile } from "./hash.ts";
import { createLink } from "./links.ts";
import { readMetadata } from "./metadata.ts";
import { OwnFiles } from "./own-files.ts";
import { Location } from "./location.ts";
import { readFile } from "./read-file.ts";
import { remove } from "./remove.ts";
import { rename } from "./rename.ts";
import { writeFile } from "./write-file.ts";

const NEW = new TextEncoder().encode("new");
const OUTSIDE = {
  code: "PERMISSION_DENIED",
  message: expect.stringContaining("outside the roots") as string,
};
const pieces = { admit: () => undefined, onPiece: () => {} };

let base: string;
const at = (path: string): string => join(base, path);

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "exec-server-own-files-")));
  for (const directory of ["etc", "data/b"]) mkdirSync(at(directory), { recursive: true });
  writeFileSync(at("etc/table"), "secret");
  writeFileSync(at("data/f"), "data");
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const has = (own: OwnFiles, path: string): boolean => {
  const fd = openSync(at(path), "r");
  try {
    return own.has(fd);
  } finally {
    closeSync(fd);
  }
};

describe("files of the server", () => {
  it("are known by other names, also those that took the place of others and those made of them", () => {
    symlinkSync("table", at("etc/current"));
    const own = new OwnFiles([at("etc/current"), at("etc/missing")]);
    linkSync(at("etc/table"), at("data/first"));
    linkSync(at("data/f"), at("data/other"));
    expect(has(own, "data/first")).toBe(true);
    expect(has(own, "data/other")).toBe(false);
    renameSync(at("etc/table"), at("etc/table.1"));
    writeFileSync(at("etc/table"), "next");
    linkSync(at("etc/table"), at("data/second"));
    expect(["data/first", "data/second", "data/f"].map((path) => has(own, path))).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("have directories above them that count as well", () => {
    const own = new OwnFiles([at("etc/table")]);
    expect(["etc", ".", "data", "data/b"].map((path) => has(own, path))).toEqual([true, true, false, false]);
  });
});

const FILE = { recursive: false, signal: wanted };
const TREE = { recursive: true, force: true, followSymlinks: true, signal: wanted };
type Use = (path: (name: string) => Location) => unknown;

const USES: Readonly<Record<string, Use>> = {
  readFile: (path) => readFile(path("table"), { followSymlinks: true }, pieces),
  "readFile without links": (path) => readFile(path("table"), { followSymlinks: false }, pieces),
  "open to read": (path) => new FileHandles().open("1", path("table"), "read"),
  hash: (path) => hashFile(path("table"), { offset: 0, length: undefined }, wanted),
  metadata: (path) => readMetadata(path("table"), { followSymlinks: false }),
  writeFile: (path) => writeFile(path("table"), NEW, { followSymlinks: true }),
  "writeFile without links": (path) => writeFile(path("table").withoutLinks(), NEW, { followSymlinks: true }),
  "open to write": (path) => new FileHandles().open("1", path("table"), "replace"),
  chmod: (path) => chmod(path("table"), 0o666),
  "chmod without links": (path) => chmod(path("table").withoutLinks(), 0o666),
  "copy from": (path) => copy(path("table"), path("copy"), FILE),
  "copy to": (path) => copy(path("../f"), path("table"), FILE),
};
/** What a directory of the server's refuses besides. */
const CHANGES: Readonly<Record<string, Use>> = {
  create: (path) => writeFile(path("new"), NEW, { followSymlinks: false }),
  "create a directory": (path) => createDirectory(path("new"), { recursive: true, followSymlinks: true }),
  link: (path) => createLink(path("new"), "f", { replace: true }),
  remove: (path) => remove(path("table"), TREE),
  "rename to": (path) => rename(path("../f"), path("table")),
};

describe("roots below which a file of the server appears", () => {
  it.each(Object.entries(USES))("by a hard link: %s is refused", async (_, use) => {
    linkSync(at("etc/table"), at("data/b/table"));
    const access = new AllowedRoots([at("data")], { own: new OwnFiles([at("etc/table")]) });
    await expect(
      (async () => use((name) => new Location(at(join("data/b", name)), access)))(),
    ).rejects.toMatchObject(OUTSIDE);
    expect(readFileSync(at("etc/table"), "utf8")).toBe("secret");
  });

  it.each(Object.entries({ ...USES, ...CHANGES }))("with its directory: %s is refused", async (_, use) => {
    writeFileSync(at("data/b/table"), "secret");
    // Stands for a mount of the directory, which not everybody can make.
    const own = { has: (fd: number) => readlinkSync(`/proc/self/fd/${fd}`) === at("data/b") };
    const access = new AllowedRoots([at("data")], { own });
    await expect(
      (async () => use((name) => new Location(at(join("data/b", name)), access)))(),
    ).rejects.toMatchObject(OUTSIDE);
    expect(readFileSync(at("data/b/table"), "utf8")).toBe("secret");
    expect(["data/b/new", "data/b/copy"].some((path) => existsSync(at(path)))).toBe(false);
  });

  it("may be beside a file of the server", () => {
    const access = new AllowedRoots([at("etc"), at("data")], { own: new OwnFiles([at("table")]) });
    expect(readMetadata(new Location(at("data"), access), { followSymlinks: false }).isDirectory).toBe(true);
    expect(readMetadata(new Location(at("data/f"), access), { followSymlinks: true }).isFile).toBe(true);
  });
});
