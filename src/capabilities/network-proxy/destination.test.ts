import { describe, expect, it } from "vitest";
import { formatAuthority, parseAuthority, parseHost } from "./destination.ts";

describe("parseHost", () => {
  it.each([
    ["Example.COM", "example.com"],
    ["example.com.", "example.com"],
    ["_dmarc.a-b.test", "_dmarc.a-b.test"],
    ["[::1]", "::1"],
    ["::1", "::1"],
    ["[::ffff:7f00:1]", "::ffff:127.0.0.1"],
    ["127.0.0.1", "127.0.0.1"],
    // These are names here. What they resolve to is checked.
    ["2130706433", "2130706433"],
    ["0x7f.1", "0x7f.1"],
  ])("reads %s as %s", (text, expected) => {
    expect(parseHost(text)).toBe(expected);
  });

  it.each([
    ..."a..b .a a.. * *.test a@b a/b a%00 [::1 ::1] [127.0.0.1] [a] [] 1:2 [fe80::1%25eth0] ä.test".split(
      " ",
    ),
    "",
    ".",
    "a b",
    "a\0b",
    "a\r\nb",
    "a".repeat(254),
  ])("refuses %j", (text) => {
    expect(parseHost(text)).toBeUndefined();
  });
});

describe("parseAuthority", () => {
  it.each([
    ["a.test", { host: "a.test", port: 80 }],
    ["a.test:", { host: "a.test", port: 80 }],
    ["a.test:8080", { host: "a.test", port: 8080 }],
    ["a.test:00080", { host: "a.test", port: 80 }],
    ["user:secret@a.test:1", { host: "a.test", port: 1 }],
    ["good.test:80@evil.test", { host: "evil.test", port: 80 }],
    ["good.test@x@evil.test", { host: "evil.test", port: 80 }],
    ["[::1]:99", { host: "::1", port: 99 }],
  ])("reads %s", (text, expected) => {
    expect(parseAuthority(text, 80)).toEqual(expected);
  });

  it.each(["", ":80", "a:0", "a:65536", "a:-1", "a:1:2", "a:b", "::1:80", "[::1]80", "a:123456", "a: 80"])(
    "refuses %j",
    (text) => {
      expect(parseAuthority(text, 80)).toBeUndefined();
    },
  );

  it("is the inverse of formatAuthority", () => {
    for (const text of ["a.test", "a.test:81", "[::1]", "[::1]:443"])
      expect(formatAuthority(parseAuthority(text, 80)!, 80)).toBe(text);
  });
});
