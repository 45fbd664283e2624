import { expect, test } from "vitest";
import { parseLabels, showLabels } from "./parse-labels.ts";

test("labels are pairs, separated by commas or given one by one", () => {
  expect(parseLabels("zone=eu,gpu=a=b")).toEqual({ zone: "eu", gpu: "a=b" });
  expect(parseLabels("c=", parseLabels("a=1"))).toEqual({ a: "1", c: "" });
  expect(parseLabels("a=1", { a: "1" })).toEqual({ a: "1" });
  expect(parseLabels("__proto__=x")).toEqual(Object.fromEntries([["__proto__", "x"]]));
});

test.each([
  ["zone", "expected KEY=VALUE, not 'zone'"],
  ["=eu", "expected KEY=VALUE, not '=eu'"],
  ["a=1,", "expected KEY=VALUE, not ''"],
  ["a=1,a=2", "no executor has both a=1 and a=2"],
])("%j is refused", (text, reason) => {
  expect(() => parseLabels(text)).toThrow(reason);
});

test("labels are shown in their order", () => {
  expect(showLabels({ zone: "eu", gpu: "yes" })).toBe("gpu=yes,zone=eu");
  expect(showLabels({})).toBe("-");
});
