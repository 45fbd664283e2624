import { expect, it } from "vitest";
import { shorten } from "./shorten.ts";

it("a short text stays as it is", () => {
  expect(shorten("abc", 3)).toBe("abc");
  expect(shorten("x".repeat(256))).toBe("x".repeat(256));
});

it("a long text ends with a sign that there is more", () => {
  expect(shorten("abcd", 3)).toBe("abc…");
  expect(shorten("x".repeat(10_000_000))).toBe(`${"x".repeat(256)}…`);
});

it("no character is cut in two", () => {
  expect(shorten("ab😀cd", 3)).toBe("ab…");
  expect(shorten("a😀cd", 3)).toBe("a😀…");
});
