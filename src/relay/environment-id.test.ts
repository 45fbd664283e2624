import { expect, test } from "vitest";
import { isEnvironmentId, isEnvironmentPattern } from "./environment-id.ts";

test.each(["build-1", "env_ABC.1", "a/b", "ä", "🚀", "...", "x".repeat(256)])("%j is an id", (id) => {
  expect([isEnvironmentId(id), isEnvironmentPattern(id)]).toEqual([true, true]);
});

test.each([
  "",
  ".",
  "..",
  "x".repeat(257),
  "a b",
  "a\n",
  "a\u00a0b",
  "a\u2028b",
  "\u2800",
  "\u3164",
  "a\u200bb",
  "a\u202eb",
  "\ud800",
  "\ue000",
])("%j is not an id, nor a pattern", (id) => {
  expect([isEnvironmentId(id), isEnvironmentPattern(id)]).toEqual([false, false]);
});

test.each(["*", "build-*", ".*"])("%j is a pattern, but not an id", (id) => {
  expect([isEnvironmentId(id), isEnvironmentPattern(id)]).toEqual([false, true]);
});

test("a pattern has one star, at its end", () => {
  expect(["*a", "a*b", "**"].map(isEnvironmentPattern)).toEqual([false, false, false]);
});
