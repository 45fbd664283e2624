import { expect, test } from "vitest";
import {
  addressOf,
  faultOfName,
  isExact,
  joinPath,
  nameOf,
  parentOf,
  pathAt,
  pathFromUri,
  resolvePath,
  stepsTo,
} from "./paths.ts";

test.each([
  "/",
  "/etc/hosts",
  "/a%b/#c/?d",
  "/new\nline/\u202egpj",
  "/space and + plus",
  "/%2F%2e%2e",
  "/文件/👋",
  "/<img src=x>",
])("%j keeps its name in an address", (path) => {
  const { pathname } = new URL(addressOf(path), "http://localhost");
  expect(pathAt(pathname)).toBe(path);
});

test("an address below the view that leaves it by dots stays below the root", () => {
  expect(pathAt("/f/a/%2e%2e/%2e%2e/etc")).toBe("/etc");
  expect(pathAt("/f/a//b/")).toBe("/a/b");
  expect(pathAt("/f")).toBeUndefined();
  expect(pathAt("/f/%ff")).toBeUndefined();
});

test.each([
  ["x", "/d/x"],
  ["../x", "/x"],
  ["../../../x", "/x"],
  ["/abs//b/./c", "/abs/b/c"],
  ["~", "/home/me"],
  ["~/docs", "/home/me/docs"],
  ["~other", "/d/~other"],
  ["", "/d"],
])("%j typed in /d is %s", (typed, path) => {
  expect(resolvePath("/d", typed, "/home/me")).toBe(path);
});

test("parents, names and steps", () => {
  expect([parentOf("/a/b"), parentOf("/a"), parentOf("/")]).toEqual(["/a", "/", "/"]);
  expect(nameOf("/a/b c")).toBe("b c");
  expect([joinPath("/", "a"), joinPath("/a", "b")]).toEqual(["/a", "/a/b"]);
  expect(stepsTo("/")).toEqual([{ name: "/", path: "/" }]);
  expect(stepsTo("/a/b").map(({ path }) => path)).toEqual(["/", "/a", "/a/b"]);
});

test.each(["", ".", "..", "a/b", "a\0", "é".repeat(128)])("%j cannot be a name", (name) => {
  expect(faultOfName(name)).toBeDefined();
});

test.each(["...", "a b", "%", "\n", "a".repeat(255)])("%j can be a name", (name) => {
  expect(faultOfName(name)).toBeUndefined();
});

test("a directory that the server sends as a URI", () => {
  expect(pathFromUri("file:///home/a%20b")).toBe("/home/a b");
  expect(pathFromUri("file:///")).toBe("/");
  expect([pathFromUri(undefined), pathFromUri(null), pathFromUri("file:///%ff"), pathFromUri("x")]).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
});

test("a name that is not UTF-8 stands for no path", () => {
  expect([isExact("a"), isExact("👋"), isExact("b\ufffd"), isExact("\ud800")]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
