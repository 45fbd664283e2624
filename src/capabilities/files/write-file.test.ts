import { spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { asOrdinaryUser } from "../../../test/fixtures/as-ordinary-user.ts";
import { makeFifo, setAttribute } from "../../../test/fault/file-nodes.ts";
import { limitFileSize } from "../../../test/fixtures/file-size-limit.ts";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { libc } from "../../native/libc.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { freeAccess, sandboxedAccess } from "./file-access.ts";
import { ownLocation, Location } from "./location.ts";
import { writeFile } from "./write-file.ts";

const UMASK = 0o022;
const O_TMPFILE = 0o20000000;
const isRoot = process.geteuid?.() === 0;
const SIZES = { empty: 0, small: 10, "the largest small": 65_536, large: 65_537, "very large": 300_000 };

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
  const before = process.umask(UMASK);
  onTestFinished(() => void process.umask(before));
});

const at = (name: string): string => join(directory, name);
const text = (name: string): string => readFileSync(at(name), "utf8");
const modeOf = (name: string): number => statSync(at(name)).mode & 0o7777;

function contentsOf(size: number): Buffer {
  return Buffer.alloc(size, "a pattern of a length that divides no block");
}

async function write(
  name: string,
  contents: string | Buffer,
  options: { mode?: number; followSymlinks?: boolean } = {},
): Promise<void> {
  await writeFile(ownLocation(at(name)), Buffer.from(contents), { followSymlinks: true, ...options });
}

/** As on a file system that has no files without a name. */
function withoutUnnamedFiles(): void {
  const { openat } = libc();
  const refusing = vi
    .spyOn(libc(), "openat")
    .mockImplementation((from, path, flags, mode) =>
      (flags & O_TMPFILE) === 0 ? openat(from, path, flags, mode) : -1,
    );
  onTestFinished(() => refusing.mockRestore());
}

describe.each([
  ["with files that have no name", () => {}],
  ["without them", withoutUnnamedFiles],
])("on a file system %s", (_, prepare) => {
  beforeEach(() => prepare());

  it.each(Object.entries(SIZES))("writes a file, new or over an old one: %s", async (_name, size) => {
    const contents = contentsOf(size);
    await write("f", contents);
    expect(readFileSync(at("f")).equals(contents)).toBe(true);
    await write("f", "something else");
    await write("f", contents);
    expect(readFileSync(at("f")).equals(contents)).toBe(true);
    expect(readdirSync(directory)).toEqual(["f"]);
    expect(openAround(directory)).toEqual([]);
  });

  it.each([10, 100_000])("replaces a file at once: the old one keeps its %d bytes", async (size) => {
    const old = contentsOf(size);
    writeFileSync(at("f"), old);
    const fd = openSync(at("f"), "r");
    try {
      await write("f", Buffer.alloc(size, 1));
      expect(readFileSync(fd).equals(old)).toBe(true);
      expect(fstatSync(fd).nlink).toBe(0);
    } finally {
      closeSync(fd);
    }
  });

  it("gives a new file the usual permissions, and keeps those of an old one", async () => {
    await write("new", "x");
    expect(modeOf("new")).toBe(0o666 & ~UMASK);
    writeFileSync(at("old"), "");
    chmodSync(at("old"), 0o4750);
    await write("old", "x");
    expect(modeOf("old")).toBe(0o4750);
  });

  it.each([0o600, 0o777, 0o4711])("sets a mode exactly, whatever the umask says: %o", async (mode) => {
    await write("new", "x", { mode });
    writeFileSync(at("old"), "");
    await write("old", contentsOf(100_000), { mode });
    expect([modeOf("new"), modeOf("old")]).toEqual([mode, mode]);
  });

  it.runIf(isRoot)("keeps the owner of a file", async () => {
    writeFileSync(at("f"), "");
    chownSync(at("f"), 1, 2);
    const before = statSync(at("f")).ino;
    await write("f", "x");
    expect(statSync(at("f"))).toMatchObject({ uid: 1, gid: 2 });
    expect(statSync(at("f")).ino).not.toBe(before);
  });

  it("leaves the old file, and nothing else, if the new one cannot take its place", async () => {
    const writing = write("f", contentsOf(100_000));
    mkdirSync(at("f/below"), { recursive: true });
    await expect(writing).rejects.toThrow();
    expect(readdirSync(directory)).toEqual(["f"]);
    expect(openAround(directory)).toEqual([]);
  });

  it("leaves the old contents if there is no room for the new ones", () => {
    writeFileSync(at("f"), "old");
    linkSync(at("f"), at("linked"));
    writeFileSync(at("g"), "old");
    const freeSpace = limitFileSize(5);
    try {
      for (const name of ["f", "g", "new"])
        expect(() => writeFile(ownLocation(at(name)), Buffer.alloc(100), { followSymlinks: true })).toThrow(
          "File too large",
        );
    } finally {
      freeSpace();
    }
    expect([text("f"), text("g")]).toEqual(["old", "old"]);
    expect(readdirSync(directory)).toEqual(["f", "g", "linked"]);
    expect(openAround(directory)).toEqual([]);
  });
});

it("writes everything, however little the system takes at a time", async () => {
  const { write: writeAll } = libc();
  const writing = vi
    .spyOn(libc(), "write")
    .mockImplementation((fd, buffer, size) => writeAll(fd, buffer, Math.min(size, 7)));
  onTestFinished(() => writing.mockRestore());
  await write("f", contentsOf(100));
  expect(readFileSync(at("f")).equals(contentsOf(100))).toBe(true);
});

it("writes in place though the file system cannot reserve space", async () => {
  const [reserving, errors] = [vi.spyOn(libc(), "fallocate"), vi.spyOn(libc(), "errno")];
  onTestFinished(() => [reserving, errors].forEach((spy) => spy.mockRestore()));
  writeFileSync(at("f"), "old");
  linkSync(at("f"), at("second"));
  for (const errno of [constants.errno.EOPNOTSUPP, constants.errno.ENOSYS]) {
    reserving.mockReturnValue(-1);
    errors.mockReturnValue(errno);
    await write("f", `${errno}`);
    expect(text("second")).toBe(`${errno}`);
  }
});

it("names a new file by /proc where the system does not name it by its descriptor", async () => {
  const { linkat } = libc();
  const linking = vi
    .spyOn(libc(), "linkat")
    .mockImplementation((fd, from, directoryFd, to, flags) =>
      linkat(fd, from.length === 1 ? Buffer.from("/proc/missing\0") : from, directoryFd, to, flags),
    );
  onTestFinished(() => linking.mockRestore());
  await write("f", "new");
  expect(text("f")).toBe("new");
  expect(linking.mock.results.map(({ value }) => value)).toEqual([-1, 0]);
});

it("has written a small file when it returns", () => {
  const now = (size: number) => writeFile(ownLocation(at("f")), contentsOf(size), { followSymlinks: true });
  expect(now(65_536)).toBeUndefined();
  expect(statSync(at("f")).size).toBe(65_536);
  return expect(now(65_537)).resolves.toBeUndefined();
});

it("is readable only to its owner until it has its permissions", async () => {
  withoutUnnamedFiles();
  writeFileSync(at("f"), "");
  const writing = write("f", contentsOf(100_000));
  const beside = readdirSync(directory).find((name) => name !== "f")!;
  expect(modeOf(beside)).toBe(0o600);
  await writing;
  expect(modeOf("f")).toBe(0o644);
});

it.each([
  ["shorter", "x"],
  ["longer", "x".repeat(100_000)],
])("writes a file with two names in place: %s", async (_, contents) => {
  writeFileSync(at("f"), "contents");
  linkSync(at("f"), at("second"));
  await write("f", contents, { mode: 0o640 });
  expect(text("second")).toBe(contents);
  expect(modeOf("second")).toBe(0o640);
  expect(readdirSync(directory)).toEqual(["f", "second"]);
});

it("writes a file with extended attributes in place, so that it keeps them", async () => {
  writeFileSync(at("f"), "contents");
  const { ino } = statSync(at("f"));
  const hasAttributes = setAttribute(at("f"), "user.kept", "value");
  await write("f", "x");
  expect(text("f")).toBe("x");
  expect(statSync(at("f")).ino === ino).toBe(hasAttributes);
});

it("keeps set-user-ID in place too, if it is asked for", async () => {
  writeFileSync(at("f"), "contents");
  linkSync(at("f"), at("second"));
  await write("f", "x", { mode: 0o4755 });
  expect(modeOf("second")).toBe(0o4755);
});

it("replaces a file that appears meanwhile", async () => {
  const writing = write("f", contentsOf(100_000));
  writeFileSync(at("f"), "appeared");
  await writing;
  expect(readFileSync(at("f")).equals(contentsOf(100_000))).toBe(true);
  expect(readdirSync(directory)).toEqual(["f"]);
});

it("says that the directory does not exist, or disappears meanwhile", async () => {
  await expect(write("none/f", "x")).rejects.toThrow("No such file or directory");
  mkdirSync(at("d"));
  const writing = write("d/f", contentsOf(100_000));
  rmSync(at("d"), { recursive: true });
  await expect(writing).rejects.toMatchObject({ code: "ENOENT" });
});

it("writes a setting of another process, beside which no file can be", async () => {
  const child = spawn("sleep", ["60"]);
  try {
    const path = `/proc/${child.pid}/oom_score_adj`;
    await writeFile(ownLocation(path), Buffer.from("500"), { followSymlinks: true });
    expect(readFileSync(path, "utf8")).toBe("500\n");
  } finally {
    child.kill();
  }
});

describe("a link", () => {
  it.each([
    ["its file", "link", "\xff"],
    ["it", "\xff", "target"],
  ])("is followed if the name of %s is not text, and not to what looks like it", async (_, link, target) => {
    const named = (name: string): Buffer => Buffer.from(`${directory}/${name}`, "latin1");
    writeFileSync(named(target), "old");
    const { ino } = statSync(named(target));
    symlinkSync(named(target), named(link));
    writeFileSync(at("\u{fffd}"), "another");
    const location = new Location(named(link), freeAccess);
    await writeFile(location, Buffer.from("new"), { followSymlinks: true });
    expect(readFileSync(named(target), "utf8")).toBe("new");
    expect(text("\u{fffd}")).toBe("another");
    expect(statSync(named(target)).ino).not.toBe(ino);
    expect(lstatSync(named(link)).isSymbolicLink()).toBe(true);
    expect(readdirSync(directory)).toHaveLength(3);
  });

  it("that leads nowhere has its file created", async () => {
    symlinkSync("target", at("link"));
    await write("link", "new");
    expect([text("target"), modeOf("target")]).toEqual(["new", 0o644]);
    expect(lstatSync(at("link")).isSymbolicLink()).toBe(true);
  });

  it("that leads to itself is an error", async () => {
    symlinkSync("loop", at("loop"));
    await expect(write("loop", "x")).rejects.toMatchObject({ code: "ELOOP" });
  });

  it("is refused if links are not followed", async () => {
    writeFileSync(at("f"), "old");
    symlinkSync("f", at("link"));
    await expect(write("link", "new", { followSymlinks: false })).rejects.toThrow("Symbolic link loop");
    await write("f", "new", { followSymlinks: false, mode: 0o604 });
    expect([text("f"), modeOf("f")]).toEqual(["new", 0o604]);
    await write("created", "new", { followSymlinks: false });
    expect([text("created"), modeOf("created")]).toEqual(["new", 0o644]);
  });
});

it("writes no pipe if links are not followed", async () => {
  makeFifo(at("pipe"));
  const reader = openSync(at("pipe"), 0o4000);
  try {
    await expect(write("pipe", "x", { followSymlinks: false })).rejects.toThrow("path is not a regular file");
    expect(openAround(directory)).toEqual([at("pipe")]);
    await write("pipe", "through", { mode: 0o600 });
    expect(readFileSync(reader, "utf8")).toBe("through");
    expect(modeOf("pipe")).toBe(0o644);
  } finally {
    closeSync(reader);
  }
});

describe("somebody with a sandbox", () => {
  const sandboxed = (name: string): Location => new Location(at(name), sandboxedAccess);

  it("cannot set the user or group of a program, new or old", () => {
    for (const mode of [0o4755, 0o2755, 0o6000])
      expect(() => writeFile(sandboxed("f"), Buffer.from("x"), { mode, followSymlinks: true })).toThrow(
        "leave out 6000",
      );
    expect(readdirSync(directory)).toEqual([]);
    for (const name of ["f", "linked"]) {
      writeFileSync(at(name), "");
      chmodSync(at(name), 0o6755);
    }
    linkSync(at("linked"), at("second"));
    for (const name of ["f", "linked"]) {
      void writeFile(sandboxed(name), Buffer.from("x"), { followSymlinks: true });
      expect([name, text(name), modeOf(name)]).toEqual([name, "x", 0o755]);
    }
  });

  it("writes within roots, and the same bits are gone", () => {
    writeFileSync(at("f"), "");
    chmodSync(at("f"), 0o4755);
    const location = new Location(at("f"), new AllowedRoots([directory]));
    void writeFile(location, Buffer.from("x"), { followSymlinks: true });
    expect([text("f"), modeOf("f")]).toEqual(["x", 0o755]);
  });
});

describe("for somebody whom permissions bind", () => {
  beforeEach(() => chmodSync(directory, 0o777));
  const writeNow = (name: string, mode?: number): void =>
    void writeFile(ownLocation(at(name)), Buffer.from("new"), { mode, followSymlinks: true });

  it("a file without write permission stays as it is, unless its owner sets a mode", () => {
    asOrdinaryUser(() => writeFileSync(at("f"), "old", { mode: 0o444 }));
    expect(() => asOrdinaryUser(() => writeNow("f"))).toThrow("Permission denied (os error 13)");
    expect(text("f")).toBe("old");
    asOrdinaryUser(() => writeNow("f", 0o440));
    expect([text("f"), modeOf("f")]).toEqual(["new", 0o440]);
  });

  it("a new file is created", () => {
    asOrdinaryUser(() => writeNow("f"));
    expect([text("f"), readdirSync(directory)]).toEqual(["new", ["f"]]);
  });

  it.runIf(isRoot)("a file of a group that is not theirs is written in place, and keeps it", () => {
    writeFileSync(at("f"), "old");
    chownSync(at("f"), 65_534, 1);
    const { ino } = statSync(at("f"));
    asOrdinaryUser(() => writeNow("f"));
    expect(text("f")).toBe("new");
    expect(statSync(at("f"))).toMatchObject({ ino, uid: 65_534, gid: 1 });
  });

  it.runIf(isRoot)("a mode opens no one else's file", () => {
    writeFileSync(at("f"), "old", { mode: 0o444 });
    expect(() => asOrdinaryUser(() => writeNow("f", 0o666))).toThrow("Permission denied (os error 13)");
    expect(text("f")).toBe("old");
  });

  it.runIf(isRoot)("someone else's writable file is written in place, and stays theirs", () => {
    writeFileSync(at("f"), "old");
    chmodSync(at("f"), 0o666);
    const { ino } = statSync(at("f"));
    asOrdinaryUser(() => writeNow("f"));
    expect(text("f")).toBe("new");
    expect(statSync(at("f"))).toMatchObject({ ino, uid: 0 });
  });

  it("a writable file in a directory that is not is written in place", () => {
    asOrdinaryUser(() => writeFileSync(at("f"), "old"));
    const { ino } = statSync(at("f"));
    chmodSync(directory, 0o555);
    asOrdinaryUser(() => writeNow("f"));
    expect(text("f")).toBe("new");
    expect(statSync(at("f")).ino).toBe(ino);
    expect(() => asOrdinaryUser(() => writeNow("created"))).toThrow("EACCES");
    chmodSync(directory, 0o777);
    rmSync(at("f"));
  });
});
