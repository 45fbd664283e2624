import { mkdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import type { NativePath } from "./native-path.ts";

let directory: string;
let access: AllowedRoots;

beforeEach(() => {
  directory = temporaryDirectory();
  mkdirSync(at("root"));
  mkdirSync(at("outside/d"), { recursive: true });
  writeFileSync(at("outside/f"), "");
  symlinkSync("loop", at("outside/loop"));
  symlinkSync("none/..", at("outside/broken"));
  symlinkSync("../outside", at("root/link"));
  access = new AllowedRoots([at("root")]);
});

const at = (name: string): string => join(directory, name);

const USES: Readonly<Record<string, (path: string) => unknown>> = {
  checked: (path) => access.check(path, { followSymlinks: true }),
  "checked without links": (path) => access.check(path, { followSymlinks: false }),
  "used as an entry": (path) => access.onEntry(path, () => {}),
  used: (path) => access.onTarget(path, { followSymlinks: true }, () => {}),
  created: (path) => access.onTarget(path, { followSymlinks: true, create: true }, () => {}),
  changed: (path) => access.checkChange(path),
};

it.each(Object.entries(USES))("says the same of every path outside that is %s", (_, use) => {
  for (const name of [
    "outside",
    "outside/f",
    "outside/none",
    "outside/f/below",
    "outside/none/below",
    "outside/loop",
    "outside/loop/below",
    "outside/broken",
    "outside/broken/below",
    `outside/${"x".repeat(300)}`,
  ]) {
    expect(() => use(at(name)), name).toThrow(`path \`${at(name)}\` is outside the roots`);
  }
});

it.each(["", "/f", "/none", "/f/below", "/none/below", "/loop", "/broken", "/broken/below"])(
  "says the same of every path outside that a link leads to: link%s",
  (rest) => {
    const path = at(`root/link${rest}`);
    for (const name of ["checked", "used", "created"])
      expect(() => USES[name]!(path), name).toThrow(`path \`${path}\` is outside the roots`);
  },
);

it("says what is wrong with a path inside", () => {
  writeFileSync(at("root/f"), "");
  for (const name of ["checked", "used", "changed"])
    expect(() => USES[name]!(at("root/f/below"))).toThrow("Not a directory (os error 20)");
});

it("follows no link of /proc, which reveals the server itself", () => {
  access = new AllowedRoots(["/"]);
  symlinkSync("/proc/self/exe", at("root/exe"));
  for (const path of ["/proc/self/exe", "/proc/self/cwd/package.json", at("root/exe"), "/dev/fd/0"])
    for (const name of ["checked", "used", "created"])
      expect(() => USES[name]!(path), name).toThrow(`path \`${path}\` is outside the roots`);
});

it("works on what a path leads to, and on the entry itself, and returns what the work returns", () => {
  mkdirSync(at("root/d"));
  writeFileSync(at("root/d/f"), "contents");
  symlinkSync("d/f", at("root/inner"));
  expect(access.check(at("root/inner"), { followSymlinks: true })).toEqual({
    path: at("root/d/f"),
    followSymlinks: false,
    isSymlink: true,
  });
  expect(access.check(at("root/d/f"), { followSymlinks: false })).toEqual({
    path: at("root/d/f"),
    followSymlinks: false,
  });
  const read = (path: NativePath): string => readFileSync(path, "utf8");
  for (const name of ["root/inner", "root/d/f"])
    expect(access.onTarget(at(name), { followSymlinks: true }, read)).toBe("contents");
  expect(access.onEntry(at("root/inner"), (path) => readlinkSync(path))).toBe("d/f");
  expect(access.onEntry(at("root"), (path) => statSync(path).isDirectory())).toBe(true);
  expect(openAround(directory)).toEqual([]);
});

it("keeps what is used open until asynchronous work is done", async () => {
  writeFileSync(at("root/f"), "contents");
  const read = async (path: NativePath): Promise<string> => {
    await new Promise((resolve) => setImmediate(resolve));
    return readFileSync(path, "utf8");
  };
  await expect(access.onTarget(at("root/f"), { followSymlinks: true }, read)).resolves.toBe("contents");
  await expect(access.onEntry(at("root/f"), read)).resolves.toBe("contents");
  const fail = () => Promise.reject(new Error("failed"));
  await expect(access.onTarget(at("root/f"), { followSymlinks: true }, fail)).rejects.toThrow("failed");
  expect(openAround(directory)).toEqual([]);
});

it("creates a file only if it is asked to, and only in a directory that exists", () => {
  const options = { followSymlinks: true, create: true };
  const write = (path: NativePath): void => writeFileSync(path, "created");
  symlinkSync("through", at("root/broken"));
  access.onTarget(at("root/new"), options, write);
  access.onTarget(at("root/broken"), options, write);
  expect(["new", "through"].map((name) => readFileSync(at(`root/${name}`), "utf8"))).toEqual([
    "created",
    "created",
  ]);
  expect(() => access.onTarget(at("root/none"), { followSymlinks: true }, write)).toThrow("os error 2");
  expect(() => access.onTarget(at("root/none/below"), options, write)).toThrow("os error 2");
  expect(() => access.onEntry(at("root/none/below"), write)).toThrow("os error 2");
  expect(access.onEntry(at("root/none"), () => "its directory exists")).toBe("its directory exists");
  expect(openAround(directory)).toEqual([]);
});

it("refuses a link where links are not followed", () => {
  writeFileSync(at("root/f"), "");
  symlinkSync("f", at("root/inner"));
  const use = (): string => "used";
  expect(access.onTarget(at("root/f"), { followSymlinks: false }, use)).toBe("used");
  expect(() => access.onTarget(at("root/inner"), { followSymlinks: false }, use)).toThrow(
    "path contains a symbolic link",
  );
});

it("lets nobody change a root, nor what contains it", () => {
  mkdirSync(at("root/d/e"), { recursive: true });
  const nested = new AllowedRoots([at("root"), at("root/d/e")]);
  for (const name of ["root", "root/d", "root/d/e"])
    expect(() => nested.checkChange(at(name)), name).toThrow("is a root of this server");
  for (const name of ["root/other", "root/d/other", "root/d/e/below", "root/link"])
    expect(() => nested.checkChange(at(name)), name).not.toThrow();
  expect(nested.depthOfTop(at("root/d/e/below"))).toBe(at("root").split("/").length - 1);
  expect(nested.depthOfTop(at("outside"))).toBeUndefined();
  expect(nested.depthOfTop(at("rooted"))).toBeUndefined();
});

it("serves no process information, though the whole disk is a root", () => {
  const everything = new AllowedRoots(["/"]);
  symlinkSync("/proc/self", at("self"));
  for (const path of ["/proc/self/environ", "/proc", at("self/environ")]) {
    expect(() => everything.check(path, { followSymlinks: true }), path).toThrow("is outside the roots");
    expect(() => everything.onTarget(path, { followSymlinks: true }, () => {})).toThrow(
      "is outside the roots",
    );
  }
  expect(() => everything.check("/proc/version", { followSymlinks: false })).toThrow("is outside the roots");
  expect(everything.check(at("root"), { followSymlinks: false }).path).toBe(at("root"));
  expect(everything.check(at("none"), { followSymlinks: false }).path).toBe(at("none"));
  expect(openAround("/proc")).toEqual([]);
});

it("follows names that are not text", () => {
  const name = Buffer.from("\xff", "latin1");
  const path = Buffer.concat([Buffer.from(at("root/")), name]);
  writeFileSync(path, "contents");
  symlinkSync(path, at("root/to-bytes"));
  expect(access.check(at("root/to-bytes"), { followSymlinks: true }).path).toEqual(path);
  expect(access.onTarget(path, { followSymlinks: true }, (opened) => readFileSync(opened, "utf8"))).toBe(
    "contents",
  );
});

it("accepts only directories as roots", () => {
  expect(() => new AllowedRoots([at("outside/f")])).toThrow(`fsRoots: ${at("outside/f")} is not a directory`);
  expect(() => new AllowedRoots([at("none")], { setting: "roots" })).toThrow(
    `roots: ${at("none")}: No such file or directory`,
  );
  expect(new AllowedRoots([at("root/link")]).check(at("outside/f"), { followSymlinks: true }).path).toBe(
    at("outside/f"),
  );
});

describe("links", () => {
  const target = (name: string): NativePath => access.check(at(name), { followSymlinks: true }).path;

  it("may go up, and lead to a directory that was already entered", () => {
    mkdirSync(at("root/a/b"), { recursive: true });
    writeFileSync(at("root/f"), "");
    symlinkSync("../../a/./b/../../f", at("root/a/b/up"));
    symlinkSync("..", at("root/a/b/parent"));
    symlinkSync(at("root/a"), at("root/a/b/absolute"));
    expect(target("root/a/b/up")).toBe(at("root/f"));
    expect(target("root/a/b/parent")).toBe(at("root/a"));
    expect(target("root/a/b/absolute/b/parent/b")).toBe(at("root/a/b"));
    const isDirectory = access.onTarget(at("root/a/b/parent"), { followSymlinks: true }, (path) =>
      statSync(path).isDirectory(),
    );
    expect(isDirectory).toBe(true);
    expect(openAround(directory)).toEqual([]);
  });

  it("are followed as often as the system does, and no more", () => {
    writeFileSync(at("root/0"), "");
    for (let index = 1; index <= 41; index += 1) symlinkSync(`${index - 1}`, at(`root/${index}`));
    expect(target("root/40")).toBe(at("root/0"));
    expect(() => target("root/41")).toThrow("Symbolic link loop (os error 40)");
    expect(openAround(directory)).toEqual([]);
  });

  it("that go up again and again end before they take long", () => {
    mkdirSync(at("root/a"));
    const around = "a/../".repeat(800);
    symlinkSync(`${around}a`, at("root/few"));
    for (const name of ["one", "two", "three", "four", "five"])
      symlinkSync(`${around}${name === "five" ? "a" : "few"}`, at(`root/${name}`));
    symlinkSync(`${around}one`, at("root/many"));
    expect(() => target("root/many")).toThrow("Symbolic link loop (os error 40)");
    expect(openAround(directory)).toEqual([]);
  });

  it("to names that do not exist say what would be created", () => {
    symlinkSync("new/./below", at("root/later"));
    expect(target("root/later")).toBe(at("root/new/below"));
    symlinkSync("new/../f", at("root/nowhere"));
    expect(() => target("root/nowhere")).toThrow("os error 2");
  });
});
