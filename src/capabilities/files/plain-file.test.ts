import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readPlainFile, readPlainMetadata } from "./plain-file.ts";

let directory: string;
const anything = (): boolean => true;
const at = (name: string): string => join(directory, name);
const text = (path: string): string | undefined => readPlainFile(path, anything)?.toString();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "plain-file-"));
  writeFileSync(at("f"), "contents");
  symlinkSync("f", at("link"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

it("reads and describes a file, also through a link", () => {
  expect(text(at("f"))).toBe("contents");
  expect(text(at("link"))).toBe("contents");
  expect(readPlainMetadata(at("link"), anything)).toMatchObject({ isFile: true, isSymlink: true, size: 8 });
  expect(readPlainMetadata(directory, anything)).toMatchObject({ isDirectory: true, isSymlink: false });
});

it("says that a file does not exist", () => {
  for (const read of [readPlainFile, readPlainMetadata])
    expect(() => read(at("none"), anything)).toThrow("No such file or directory (os error 2)");
});

it("leaves everything else to others: directories, large files, what is below a file, and the refused", () => {
  writeFileSync(at("large"), Buffer.alloc(100_000));
  for (const path of [directory, at("large"), at("f/below"), "/dev/null"]) expect(text(path)).toBeUndefined();
  expect(readPlainFile(at("f"), () => false)).toBeUndefined();
  expect(readPlainMetadata(at("f"), () => false)).toBeUndefined();
});

it("knows a refused file by where it is, whatever leads there", () => {
  for (const name of ["f", "link", `../${basename(directory)}/f`])
    expect(readPlainFile(`${directory}/${name}`, (opened) => opened !== at("f"))).toBeUndefined();
});

it("reads nothing of any process, by whatever way", () => {
  symlinkSync("/proc/self", at("self"));
  const fd = openSync(at("f"), "r");
  try {
    for (const path of [
      "/proc/self/environ",
      "/proc/self/mem",
      `/proc/${process.pid}/environ`,
      `/proc/self/fd/${fd}`,
      `/dev/fd/${fd}`,
      "/proc/self/cwd/package.json",
      `/proc/self/root${at("f")}`,
      at("self/environ"),
      at(`self/fd/${fd}`),
      "/proc/self/task/../environ",
    ]) {
      expect([path, text(path)]).toEqual([path, undefined]);
      expect([path, readPlainMetadata(path, anything)]).toEqual([path, undefined]);
    }
  } finally {
    closeSync(fd);
  }
});

it("reads nothing that needs a privilege, or that is another one in a sandbox", () => {
  const shared = mkdtempSync("/dev/shm/plain-file-");
  try {
    writeFileSync(join(shared, "f"), "shared");
    symlinkSync(shared, at("shared"));
    symlinkSync(join(shared, "none"), at("nowhere"));
    mkdirSync(at("locked"));
    writeFileSync(at("locked/f"), "locked");
    writeFileSync(at("own"), "own", { mode: 0o000 });
    chmodSync(at("locked"), 0o000);
    for (const path of [`${shared}/f`, at("shared/f"), at("locked/f"), at("own")])
      expect([path, text(path)]).toEqual([path, undefined]);
    for (const path of [`${shared}/f`, at("shared/f"), at("shared"), "/dev", "/dev/null", at("locked/f")])
      expect([path, readPlainMetadata(path, anything)]).toEqual([path, undefined]);
    // Whether they exist inside cannot be seen from outside.
    for (const path of [
      `${shared}/none`,
      at("shared/none"),
      at("shared/none/below"),
      at("locked/none"),
      at("nowhere"),
    ])
      expect([path, text(path)]).toEqual([path, undefined]);
    for (const path of [at("none/below"), at("none")]) expect(() => text(path)).toThrow("os error 2");
  } finally {
    chmodSync(at("locked"), 0o700);
    rmSync(shared, { recursive: true });
  }
});

it("leaves no descriptor open", () => {
  const targets = (): string[] =>
    readdirSync("/proc/self/fd").flatMap((fd) => {
      try {
        return [readlinkSync(`/proc/self/fd/${fd}`)];
      } catch {
        return [];
      }
    });
  for (const path of [at("f"), at("link"), directory, "/proc/self/environ"]) {
    readPlainFile(path, anything);
    readPlainMetadata(path, () => false);
  }
  expect(targets().filter((target) => target.startsWith(directory))).toEqual([]);
});
