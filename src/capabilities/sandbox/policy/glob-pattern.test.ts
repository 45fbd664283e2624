import { expect, it } from "vitest";
import { escapeGlob, parseGlob } from "./glob-pattern.ts";

function matches(name: string, pattern: string): boolean {
  const matcher = parseGlob(`/base/*/${pattern}`).names[1];
  if (typeof matcher !== "function") throw new Error(`${pattern} is no pattern of a name`);
  return matcher(name);
}

it.each([
  ["a.env", "*.env", true],
  [".env", "*.env", true],
  ["a.envy", "*.env", false],
  ["a.ENV", "*.env", false],
  ["ab", "?b", true],
  ["b", "?b", false],
  ["🙂", "?", true],
  ["x.env", "[xy].env", true],
  ["x.env", "[!y].env", true],
  ["y.env", "[^y].env", false],
  ["m", "[a-z]", true],
  ["-", "[a-]", true],
  ["]", "[]]", true],
  ["{", "[{]", true],
  ["a{", "a[{}]", true],
  ["[a", "[a", true],
  ["*", "\\*", true],
  ["a", "\\*", false],
  ["any", "a**y", true],
  ["", "*", true],
])("%j matches %j: %j", (name, pattern, expected) => {
  expect(matches(name, pattern)).toBe(expected);
});

it("has a bound", () => {
  expect(() => parseGlob(`/a/${"*".repeat(4094)}`)).toThrow("at most 4096 characters");
  expect(matches("a".repeat(255), "?".repeat(255))).toBe(true);
  expect(matches("a".repeat(255), "*?".repeat(256))).toBe(false);
});

it("takes no exponential time", () => {
  expect(matches("a".repeat(255), `${"*a".repeat(60)}b`)).toBe(false);
});

it("starts to search at the last directory without a wildcard", () => {
  expect(parseGlob("/a/./b//*.env").base).toBe("/a/b");
  expect(parseGlob("/a/x/../b/*").base).toBe("/a/b");
  expect(parseGlob("/a/b")).toEqual({ base: "/a/b", names: [] });
});

it("takes escaped characters literally, also in the directories before the first wildcard", () => {
  const odd = "/a[b]/{c}/d*?\\e";
  const { base, names } = parseGlob(`${escapeGlob(odd)}/*.env`);
  expect([base, names.length]).toEqual([odd, 1]);
  expect(parseGlob(escapeGlob(odd))).toEqual({ base: odd, names: [] });
  expect(parseGlob("/a[b/*").base).toBe("/a[b");
  expect(parseGlob("/[[]a[]]/b[{]c[}][*]/*").base).toBe("/[a]/b{c}*");
});

it.each(["/*.env", "/**/x", "", "/", "/a/../*", "/a/{b,c}", "/a/*/../b"])(
  "refuses %j, which would search the whole disk or is not supported",
  (pattern) => {
    expect(() => parseGlob(pattern)).toThrow(
      `unreadable glob \`${pattern}\` cannot be safely expanded; use a pattern with a non-root directory prefix`,
    );
  },
);
