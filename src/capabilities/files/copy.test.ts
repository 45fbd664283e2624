import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { makeFifo } from "../../../test/fault/file-nodes.ts";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { wanted } from "../../../test/fixtures/wanted.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { copy } from "./copy.ts";
import type { FileAccess } from "./file-access.ts";
import { freeAccess, sandboxedAccess } from "./file-access.ts";
import { Location } from "./location.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
const at = (name: string): string => join(directory, name);
const text = (name: string): string => readFileSync(at(name), "utf8");
const modeOf = (name: string): number => statSync(at(name)).mode & 0o7777;

function copied(
  from: string,
  to: string,
  {
    recursive = false,
    access = freeAccess,
    signal = wanted,
  }: { recursive?: boolean; access?: FileAccess; signal?: AbortSignal } = {},
): Promise<void> {
  const location = (name: string): Location => new Location(name.startsWith("/") ? name : at(name), access);
  return copy(location(from), location(to), { recursive, signal });
}

describe("a file", () => {
  it.each([0, 10, 3_000_000])("is copied, also over a longer one: %d bytes", async (size) => {
    const contents = Buffer.alloc(size, "a pattern of a length that divides no block");
    writeFileSync(at("from"), contents);
    writeFileSync(at("old"), Buffer.alloc(size + 100));
    for (const name of ["new", "old"]) {
      await copied("from", name);
      expect(readFileSync(at(name)).equals(contents)).toBe(true);
    }
    expect(openAround(directory)).toEqual([]);
  });

  it("of the kernel is copied though it claims to be empty", async () => {
    await copied("/proc/self/status", "status");
    expect(text("status")).toContain(`\nPid:\t${process.pid}\n`);
  });

  it("keeps its permissions, and set-user-ID for the same owner", async () => {
    writeFileSync(at("from"), "x");
    for (const mode of [0o640, 0o777, 0o4711, 0o2750]) {
      chmodSync(at("from"), mode);
      await copied("from", "to");
      expect(modeOf("to")).toBe(mode);
    }
    await copied("from", "sandboxed", { access: sandboxedAccess });
    expect(modeOf("sandboxed")).toBe(0o750);
  });

  it.runIf(process.geteuid?.() === 0)("of another owner or group loses set-user-ID", async () => {
    for (const [uid, gid] of [
      [1, 0],
      [0, 1],
    ] as const) {
      writeFileSync(at("from"), "x");
      chownSync(at("from"), uid, gid);
      chmodSync(at("from"), 0o6755);
      await copied("from", "to");
      expect(modeOf("to")).toBe(0o755);
    }
  });

  it("that is copied to itself stays as it is", async () => {
    writeFileSync(at("f"), "contents");
    chmodSync(at("f"), 0o4755);
    symlinkSync("f", at("link"));
    await copied("f", "f");
    await copied("f", "link");
    expect([text("f"), modeOf("f")]).toEqual(["contents", 0o4755]);
  });

  it("is copied to where a link leads, even if nothing is there yet", async () => {
    writeFileSync(at("from"), "contents");
    symlinkSync("target", at("link"));
    await copied("from", "link");
    expect([text("target"), lstatSync(at("link")).isSymbolicLink()]).toEqual(["contents", true]);
    await copied("from", "/dev/null");
    expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
  });

  it("that does not exist, or where it cannot be created, is an error", async () => {
    await expect(copied("none", "to")).rejects.toMatchObject({ code: "ENOENT" });
    writeFileSync(at("f"), "");
    mkdirSync(at("d"));
    await expect(copied("f", "none/to")).rejects.toMatchObject({ code: "ENOENT" });
    await expect(copied("f", "d")).rejects.toMatchObject({ code: "EISDIR" });
    expect(openAround(directory)).toEqual([]);
  });
});

it("copies a link as a link, whatever its text is", async () => {
  const bytes = Buffer.from("\xff", "latin1");
  symlinkSync(bytes, at("from"));
  await copied("from", "to");
  expect(readlinkSync(at("to"), { encoding: "buffer" })).toEqual(bytes);
  await expect(copied("from", "to")).rejects.toMatchObject({ code: "EEXIST" });
});

it("copies neither a pipe nor, without being asked to, a directory", async () => {
  makeFifo(at("pipe"));
  mkdirSync(at("d"));
  await expect(copied("pipe", "to")).rejects.toThrow(
    "only supports regular files, directories, and symlinks",
  );
  await expect(copied("d", "to")).rejects.toThrow("requires recursive: true");
  expect(existsSync(at("to"))).toBe(false);
});

describe("a directory", () => {
  beforeEach(() => {
    mkdirSync(at("from/d/e"), { recursive: true });
    writeFileSync(at("from/d/f"), "contents");
    writeFileSync(Buffer.concat([Buffer.from(at("from/")), Buffer.from("\xff", "latin1")]), "bytes");
    symlinkSync("d/f", at("from/link"));
    makeFifo(at("from/pipe"));
  });

  it.each([
    ["free", (): FileAccess => freeAccess],
    ["confined", (): FileAccess => new AllowedRoots([directory])],
  ])("is copied with its contents, except what cannot be: %s access", async (_, accessOf) => {
    await copied("from", "to", { recursive: true, access: accessOf() });
    expect(readdirSync(at("to"), { encoding: "latin1" }).sort()).toEqual(["d", "link", "\xff"]);
    expect([text("to/d/f"), readlinkSync(at("to/link"))]).toEqual(["contents", "d/f"]);
    expect(statSync(at("to/d/e")).isDirectory()).toBe(true);
    expect(openAround(directory)).toEqual([]);
  });

  it("is merged into one that exists", async () => {
    mkdirSync(at("to/d"), { recursive: true });
    writeFileSync(at("to/d/other"), "other");
    writeFileSync(at("to/d/f"), "old, and longer");
    await copied("from", "to", { recursive: true });
    expect([text("to/d/f"), text("to/d/other")]).toEqual(["contents", "other"]);
  });

  it.each(["from", "from/d", "from/d/new/below", "into"])("is not copied into itself: %s", async (to) => {
    symlinkSync("from/d", at("into"));
    await expect(copied("from", to, { recursive: true })).rejects.toThrow(
      "cannot copy a directory to itself or one of its descendants",
    );
    await expect(
      copied("from", to, { recursive: true, access: new AllowedRoots([directory]) }),
    ).rejects.toThrow("cannot copy a directory to itself or one of its descendants");
    expect(readdirSync(at("from/d"))).toEqual(["e", "f"]);
  });

  it("is copied beside itself", async () => {
    await copied("from/d", "from/copy/below/missing", { recursive: true }).catch(() => {});
    await copied("from/d", "from/d2", { recursive: true });
    expect(text("from/d2/f")).toBe("contents");
  });
});

it("does not leave the roots", async () => {
  mkdirSync(at("root"));
  writeFileSync(at("secret"), "secret");
  symlinkSync("../secret", at("root/out"));
  writeFileSync(at("root/f"), "");
  const access = new AllowedRoots([at("root")]);
  await expect(copied("secret", "root/to", { access })).rejects.toThrow("outside the roots");
  await expect(copied("root/f", "root/out", { access })).rejects.toThrow("outside the roots");
  await copied("root/out", "root/link", { access });
  expect(readlinkSync(at("root/link"))).toBe("../secret");
  expect(text("secret")).toBe("secret");
});

describe("a client that leaves", () => {
  it("ends the copy of a large file", async () => {
    // From another file system, because within one the system may copy a file of any size at once.
    const elsewhere = mkdtempSync("/dev/shm/test-");
    onTestFinished(() => rmSync(elsewhere, { recursive: true }));
    const large = join(elsewhere, "large");
    writeFileSync(large, "");
    truncateSync(large, 100_000_000);
    await expect(copied(large, "to", { signal: AbortSignal.abort() })).rejects.toThrow("the client is gone");
    expect(statSync(at("to")).size).toBeLessThan(100_000_000);
    expect(openAround(directory)).toEqual([]);
  });

  it("ends the copy of a tree", async () => {
    mkdirSync(at("tree/inner"), { recursive: true });
    await expect(copied("tree", "copy", { recursive: true, signal: AbortSignal.abort() })).rejects.toThrow(
      "the client is gone",
    );
    expect(existsSync(at("copy/inner"))).toBe(false);
    expect(openAround(directory)).toEqual([]);
  });

  it("leaves no small file half copied", async () => {
    writeFileSync(at("from"), "small");
    await copied("from", "to", { signal: AbortSignal.abort() });
    expect(text("to")).toBe("small");
  });
});
