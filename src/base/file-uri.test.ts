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
