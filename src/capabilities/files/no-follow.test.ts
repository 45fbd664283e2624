import {
  closeSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { pathComponents } from "./native-path.ts";
import {
  createDirectories,
  createDirectoryNoFollow,
  createFileAt,
  openDirectories,
  openDirectoryAt,
  openLinkedDirectoryAt,
  openNoFollow,
  removeNoFollow,
  statNoFollow,
  tryDirectoryAt,
} from "./no-follow.ts";
import { ownLocation } from "./location.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
  mkdirSync(at("d/e"), { recursive: true });
  writeFileSync(at("d/f"), "contents");
  symlinkSync("d", at("link"));
  symlinkSync("f", at("d/last"));
  symlinkSync("none", at("broken"));
});

const at = (name: string): string => join(directory, name);
const isDirectory = (name: string): boolean => statSync(at(name)).isDirectory();
const followed = { followSymlinks: true };
const OWN = ownLocation("/");

describe("opening", () => {
  it("reaches a file, but neither through a link nor a link itself", () => {
    const fd = openNoFollow(at("d/f"), constants.O_RDONLY);
    expect(readFileSync(fd, "utf8")).toBe("contents");
    closeSync(fd);
    expect(() => openNoFollow(at("link/f"), constants.O_RDONLY)).toThrow("Not a directory");
    expect(() => openNoFollow(at("d/last"), constants.O_RDONLY)).toThrow("Symbolic link loop");
    expect(() => openNoFollow(at("none/f"), constants.O_RDONLY)).toThrow("os error 2");
    expect(() => openNoFollow("/", constants.O_RDONLY)).toThrow("path must name an entry");
    expect(openAround(directory)).toEqual([]);
  });

  it("creates a file with the mode that is asked for", () => {
    closeSync(openNoFollow(at("new"), constants.O_WRONLY | constants.O_CREAT, 0o600));
    expect(statSync(at("new")).mode & 0o777).toBe(0o600);
  });

  it("leads to a directory by its names, and leaves nothing open if it fails", () => {
    const fd = openDirectories(pathComponents(at("d/e")));
    expect(openAround(directory)).toEqual([at("d/e")]);
    closeSync(fd);
    for (const name of ["none", "d/none", "link", "d/f"])
      expect(() => openDirectories(pathComponents(at(name))), name).toThrow("os error");
    expect(openAround(directory)).toEqual([]);
  });

  it("distinguishes directories, links and files", () => {
    const top = openDirectories(pathComponents(directory));
    try {
      const d = tryDirectoryAt(top, "d")!;
      expect(() => openDirectoryAt(top, "link")).toThrow("Not a directory");
      expect([tryDirectoryAt(top, "link"), tryDirectoryAt(top, "none"), tryDirectoryAt(d, "f")]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      for (const fd of [openDirectoryAt(top, "d"), openLinkedDirectoryAt(top, "link"), d]) closeSync(fd);
      closeSync(createFileAt(top, "new"));
      expect(() => createFileAt(top, "new")).toThrow("File exists");
      expect(() => createFileAt(top, "broken")).toThrow("File exists");
    } finally {
      closeSync(top);
    }
  });
});

describe("creating a directory", () => {
  it("is refused if there is one, or no parent", () => {
    void createDirectoryNoFollow(OWN, at("d/new"), false);
    expect(isDirectory("d/new")).toBe(true);
    expect(() => createDirectoryNoFollow(OWN, at("d"), false)).toThrow("File exists");
    expect(() => createDirectoryNoFollow(OWN, at("none/new"), false)).toThrow("os error 2");
    expect(() => createDirectoryNoFollow(OWN, "/", false)).toThrow("directory already exists");
    expect(() => createDirectoryNoFollow(OWN, "/tmp", false)).toThrow("File exists");
  });

  it("creates its parents on request, and is satisfied with what there is", () => {
    void createDirectoryNoFollow(OWN, at("a/b/c"), true);
    void createDirectoryNoFollow(OWN, at("a/b/c"), true);
    void createDirectoryNoFollow(OWN, "/", true);
    expect(isDirectory("a/b/c")).toBe(true);
    expect(() => createDirectoryNoFollow(OWN, at("d/f"), true)).toThrow("Not a directory");
  });

  it("goes through no link unless links are followed", () => {
    expect(() => createDirectoryNoFollow(OWN, at("link/new"), true)).toThrow("Not a directory");
    expect(() => createDirectories(OWN, at("link/new"), { followSymlinks: false })).toThrow(
      "Not a directory",
    );
    void createDirectories(OWN, at("link/new/x"), followed);
    expect(isDirectory("d/new/x")).toBe(true);
    for (const name of ["broken/new", "d/f/new"])
      expect(() => createDirectories(OWN, at(name), followed), name).toThrow("File exists (os error 17)");
  });

  it("creates very many in turns", async () => {
    const deep = at(Array.from({ length: 120 }, () => "x").join("/"));
    const creating = createDirectories(OWN, deep, followed);
    expect(creating).toBeInstanceOf(Promise);
    await creating;
    expect(statSync(deep).isDirectory()).toBe(true);
    expect(openAround(directory)).toEqual([]);
    expect(createDirectories(OWN, at("few"), followed)).toBeUndefined();
  });
});

it("removes a file or an empty directory, but no link and nothing behind one", () => {
  removeNoFollow(OWN, at("d/f"));
  removeNoFollow(OWN, at("d/e"));
  expect(readdirSync(at("d"))).toEqual(["last"]);
  expect(() => removeNoFollow(OWN, at("link"))).toThrow("path contains a symbolic link");
  expect(() => removeNoFollow(OWN, at("link/last"))).toThrow("Not a directory");
  expect(() => removeNoFollow(OWN, at("d"))).toThrow("Directory not empty");
  expect(() => removeNoFollow(OWN, at("none"))).toThrow("os error 2");
  expect(openAround(directory)).toEqual([]);
});

it("describes an entry, but no link", () => {
  expect(statNoFollow(at("d/f")).size).toBe(8);
  expect(statNoFollow("/").isDirectory()).toBe(true);
  expect(() => statNoFollow(at("d/last"))).toThrow("path contains a symbolic link");
  expect(openAround(directory)).toEqual([]);
});
