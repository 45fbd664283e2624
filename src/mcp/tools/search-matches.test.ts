import { expect, it } from "vitest";
import { parseMatches } from "./search-matches.ts";

const parse = (text: string, limit = 100) => parseMatches(Buffer.from(text), limit);

it("reads names with line ends and colons, and lines with anything", () => {
  expect(parse("grep\n/a\n:1:b\x001:x:y\r\n/c\x0020:\n")).toEqual({
    program: "grep",
    matches: [
      { path: "/a\n:1:b", line: 1, text: "x:y" },
      { path: "/c", line: 20, text: "" },
    ],
  });
});

it("stops at the limit, and where the output is cut", () => {
  expect(parse("rg\n/a\x001:x\n/b\x002:y\n", 1).matches).toHaveLength(1);
  expect(parse("rg\n/a\x001:x\n/b\x002").matches).toHaveLength(1);
  expect(parse("rg\n/a\x001:x\n/b").matches).toHaveLength(1);
  expect(parse("rg\n/a\x00zero:x\n").matches).toEqual([]);
  expect(parse("")).toEqual({ program: "", matches: [] });
});

it("shortens long lines", () => {
  expect(parse(`rg\n/a\x001:${"x".repeat(1_000)}\n`).matches[0]!.text).toBe(`${"x".repeat(400)}…`);
});
