import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Replacement, replaced, unifiedDiff } from "./diff.ts";

/** Applies a diff as `patch` does, without any fuzz. */
function patched(text: string, diff: string): string {
  const old = text.split(/(?<=\n)/).filter((line) => line !== "");
  const result: string[] = [];
  let at = 0;
  const lines = diff
    .split(/(?<=\n)/)
    .filter((line) => line !== "")
    .slice(2);
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!;
    const [, from, count] = /^@@ -(\d+),(\d+) /.exec(line) ?? [];
    if (from !== undefined) {
      const start = Number(count) === 0 ? Number(from) : Number(from) - 1;
      result.push(...old.slice(at, start));
      at = start;
      continue;
    }
    if (line.startsWith("\\")) continue;
    const isLast = lines[index + 1]?.startsWith("\\") === true;
    const content = isLast ? line.slice(1, -1) : line.slice(1);
    if (!line.startsWith("+")) {
      expect(old[at]).toBe(content);
      at += 1;
    }
    if (!line.startsWith("-")) result.push(content);
  }
  return [...result, ...old.slice(at)].join("");
}

function replaceAll(text: string, old: string, put: string): Replacement[] {
  const found: Replacement[] = [];
  for (let from = text.indexOf(old); from >= 0; from = text.indexOf(old, from + old.length))
    found.push({ from, to: from + old.length, text: put });
  return found;
}

describe("a unified diff", () => {
  const numbers = Array.from({ length: 20 }, (_, index) => `${index + 1}\n`).join("");

  it("shows three lines around a change", () => {
    expect(unifiedDiff("/f", numbers, replaceAll(numbers, "10\n", "ten\n"))).toBe(
      "--- a/f\n+++ b/f\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n",
    );
  });

  it("joins changes that are close, and counts lines after others", () => {
    const diff = unifiedDiff("/f", numbers, [
      { from: 0, to: 2, text: "one\nand a half\n" },
      { from: numbers.indexOf("20"), to: numbers.indexOf("20") + 2, text: "twenty" },
    ]);
    expect(diff.match(/^@@.*$/gm)).toEqual(["@@ -1,4 +1,5 @@", "@@ -17,4 +18,4 @@"]);
  });

  it("says that a line end is missing", () => {
    expect(unifiedDiff("/f", "a", replaceAll("a", "a", "b\n"))).toBe(
      "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n",
    );
  });

  it("turns the old text into the new one, whatever is replaced", () => {
    const piece = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 4 });
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 60, size: "max" }),
        piece.filter((text) => text !== ""),
        piece,
        (text, old, put) => {
          const replacements = replaceAll(text, old, put);
          fc.pre(replacements.length > 0 && old !== put);
          expect(patched(text, unifiedDiff("/f", text, replacements))).toBe(replaced(text, replacements));
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
