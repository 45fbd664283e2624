import { expect, it } from "vitest";
import { isReplaceable, standInFor } from "./stand-in.ts";

it.each([
  ["ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_", /^ghp_[a-z]{26}\d{10}$/],
  ["AKIA-abcDEF123_ghiJKL456.x", "", /^[A-Z]{4}-[a-z]{3}[A-Z]{3}\d{3}_[a-z]{3}[A-Z]{3}\d{3}\.[a-z]$/],
  ["0123456789abcdef0123", "", /^\d{10}[a-f]{6}\d{4}$/],
  ["0123456789ABCDEF0123", "", /^\d{10}[A-F]{6}\d{4}$/],
])("looks like %s", (secret, prefix, form) => {
  const made = new Set(Array.from({ length: 50 }, () => standInFor(secret, prefix)));
  expect(made.size).toBe(50);
  for (const standIn of made) expect(standIn).toMatch(form);
  expect(made.has(secret)).toBe(false);
});

it("does not keep so much of a secret that nothing is left to hide", () => {
  expect(standInFor("sk-proj-abcdefghijklmnop", "sk-proj-abcdefgh")).not.toMatch(/^sk-proj-abcdefgh/);
});

it.each([
  "",
  "short",
  "a".repeat(15),
  "with a blank in it",
  "naïve-naïve-naïve-naïve",
  "-".repeat(40),
  "x".repeat(4097),
  "line\nline\nline\nline",
])("cannot stand for %j", (value) => {
  expect(isReplaceable(value)).toBe(false);
});
