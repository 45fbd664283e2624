import { describe, expect, it } from "vitest";
import { joinPath, pathComponents, showPath, splitPath, textOrBytes } from "./native-path.ts";
import { toCString } from "../../native/libc.ts";

const bytes = (text: string): Buffer => Buffer.from(text, "latin1");

describe("a path as text", () => {
  it("is split into its directory and its name", () => {
    expect(splitPath("/a/b/c")).toEqual({ directory: "/a/b", name: "c" });
    expect(splitPath("/a")).toEqual({ directory: "/", name: "a" });
    expect(splitPath("/")).toEqual({ directory: "/", name: "." });
  });

  it("is joined from a directory and a name", () => {
    expect(joinPath("/a/b", "c")).toBe("/a/b/c");
    expect(joinPath("/", "c")).toBe("/c");
  });

  it("has names", () => {
    expect(pathComponents("/")).toEqual([]);
    expect(pathComponents("//a//b/")).toEqual(["a", "b"]);
  });

  it("ends with NUL for C functions", () => {
    expect(toCString("/ä")).toEqual(Buffer.from("/ä\0"));
  });

  it("is shown as it is", () => {
    expect(showPath("/ä")).toBe("/ä");
  });
});

describe("a path as bytes", () => {
  it("is split into its directory and its name", () => {
    expect(splitPath(bytes("/a/\xff/c"))).toEqual({ directory: bytes("/a/\xff"), name: bytes("c") });
    expect(splitPath(bytes("/\xff"))).toEqual({ directory: "/", name: bytes("\xff") });
  });

  it("is joined from a directory and a name, if one of them is bytes", () => {
    expect(joinPath(bytes("/\xff"), "c")).toEqual(bytes("/\xff/c"));
    expect(joinPath("/a", bytes("\xff"))).toEqual(bytes("/a/\xff"));
  });

  it("has names", () => {
    expect(pathComponents(bytes("/"))).toEqual([]);
    expect(pathComponents(bytes("//a//\xff/"))).toEqual([bytes("a"), bytes("\xff")]);
    expect(pathComponents(bytes("x/y"))).toEqual([bytes("x"), bytes("y")]);
  });

  it("ends with NUL for C functions", () => {
    expect(toCString(bytes("/\xff"))).toEqual(bytes("/\xff\0"));
  });

  it("is shown as far as it is text", () => {
    expect(showPath(bytes("/a\xff"))).toBe("/a\u{fffd}");
  });

  it("becomes text if it is UTF-8", () => {
    expect(textOrBytes(Buffer.from("/ä"))).toBe("/ä");
    expect(textOrBytes(bytes("/\xff"))).toEqual(bytes("/\xff"));
  });
});
