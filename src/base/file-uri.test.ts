import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ForeignPathError, PathUriError, pathFromUri, uriFromPath } from "./file-uri.ts";

describe("pathFromUri", () => {
  it.each([
    ["file:///tmp", "/tmp"],
    ["file://localhost/tmp", "/tmp"],
    ["FILE:///tmp", "/tmp"],
    ["file:tmp", "/tmp"],
    ["file:///tmp/../usr/./bin", "/usr/bin"],
    ["file:///a%2Fb", "/a/b"],
    ["file:///tmp/", "/tmp"],
    ["file:///", "/"],
    ["file:///a/sub%2F..%2Fb", "/a/b"],
    ["file:///a/sub%2F..", "/a"],
    ["file:///a%2F.%2F", "/a"],
    ["file:///..%2F%2e%2e%2F", "/"],
    ["file:///%2F%2Fa%2F%2Fb", "/a/b"],
    ["file:///a%252F..%2Fb", "/a%2F../b"],
    ["file:///a%2%", "/a%2%"],
    ["file:///.../..a/b..%2F..c", "/.../..a/b../..c"],
    ["fi\tle:\n///a\r", "/a"],
    ["file:///sp ace/é", "/sp ace/é"],
    ["file:///sp%20ace%23%25%C3%A9", "/sp ace#%é"],
  ])("%s is %s", (uri, path) => {
    expect(pathFromUri(uri)).toBe(path);
  });

  it.each([
    ["/tmp", PathUriError, "invalid URI: relative URL without a base"],
    ["http://x/y", PathUriError, "unsupported path URI scheme `http`"],
    ["file:///tmp?x=1", PathUriError, "query parameters are not allowed in path URIs"],
    ["file:///tmp#x", PathUriError, "fragments are not allowed in path URIs"],
    ["file:///a%00b", PathUriError, "'file:///a%00b' is invalid on 'linux'"],
    ["file://host/f", ForeignPathError, "'file://host/f' is invalid on 'linux'"],
    ["file:///C:/x", ForeignPathError, "'file:///C:/x' is invalid on 'linux'"],
  ])("%s is refused", (uri, errorClass, message) => {
    expect(() => pathFromUri(uri)).toThrow(errorClass);
    expect(() => pathFromUri(uri)).toThrow(message);
  });

  it("leaves neither dots nor doubled slashes, and decodes every escape exactly once", () => {
    const part = fc.constantFrom(
      "/",
      "%2F",
      "%2f",
      ".",
      "%2e",
      "%2E",
      "..",
      "a",
      "é",
      "%C3%A9",
      "%FF",
      "%25",
      "%",
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 200, size: "max" }), (parts) => {
        const path = pathFromUri(`file:///${parts.join("")}`);
        const text = Buffer.from(path).toString("latin1");
        expect(text).toBe(modelOf(new URL(`file:///${parts.join("")}`).pathname));
        expect(text.split("/").slice(1)).not.toContain("..");
      }),
    );
  });

  it("takes time in proportion to the length, whatever the text", () => {
    const long = (make: (count: number) => string): number => {
      const measure = (count: number): number => {
        const uri = make(count);
        const start = process.cpuUsage();
        try {
          pathFromUri(uri);
        } catch {
          // Refusing it takes time, too.
        }
        return process.cpuUsage(start).user / 1000;
      };
      return Math.min(measure(100_000), measure(100_000), measure(100_000));
    };
    const texts: Record<string, (count: number) => string> = {
      "slashes before a name": (count) => `file:///x${"/".repeat(count)}y`,
      escapes: (count) => `file:///${"%41".repeat(count)}`,
      bytes: (count) => `file:///${"%FF".repeat(count)}`,
      "escaped dots": (count) => `file:///a${"%2Fd%2F..".repeat(count)}`,
      "names, then as many dots": (count) => `file:///${"a%2F".repeat(count)}${"..%2F".repeat(count)}`,
      "one long name": (count) => `file:///${"a".repeat(count)}`,
      "an ordinary path with a blank behind": (count) => `file:///${"a/".repeat(count)} x`,
      "a host of marks": (count) => `file://a${"\u0301\u0327".repeat(count)}/x`,
      "a host of many signs": (count) =>
        `file:\t//${Array.from({ length: count }, (_, index) => String.fromCharCode(0x4e00 + (index % 20_000))).join("")}/x`,
      "blanks around": (count) => `${" ".repeat(count)}file:///x${" ".repeat(count)}y`,
      "a scheme": (count) => "a".repeat(count),
    };
    // The slowest takes about 15 ms; anything that is not linear takes seconds.
    for (const [name, make] of Object.entries(texts)) expect(long(make), name).toBeLessThan(400);
  });

  it("finds back every path that uriFromPath wrote", () => {
    const segment = fc
      .string({ minLength: 1, unit: "grapheme" })
      .filter((text) => !/[/\0]/.test(text) && text !== "." && text !== "..");
    fc.assert(
      fc.property(fc.array(segment), (segments) => {
        const path = `/${segments.join("/")}`;
        fc.pre(!/^\/[A-Za-z]:(\/|$)/.test(path));
        expect(pathFromUri(uriFromPath(path))).toBe(path);
      }),
    );
  });
});

/** The same said slowly. */
function modelOf(pathname: string): string {
  const decoded = pathname.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const names: string[] = [];
  for (const name of decoded.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}
