import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CapabilityError } from "../../base/errors.ts";
import { MatchingWork, NamePatterns } from "./name-patterns.ts";

const fits = (name: string, ...patterns: string[]): boolean =>
  new NamePatterns(patterns, new MatchingWork()).fits(name);

/** The meaning of the patterns, as a regular expression; fine for short ones. */
function model(name: string, pattern: string): boolean {
  const source = Array.from(pattern, (character) => {
    if (character === "*") return ".*";
    return character === "?" ? "." : character.replace(/[\\^$.|+()[\]{}]/, "\\$&");
  });
  return new RegExp(`^${source.join("")}$`, "isu").test(name);
}

describe("NamePatterns", () => {
  it("means what a regular expression would", () => {
    const characters = fc.constantFrom("a", "A", "b", "*", "?", ".", "[", "]", "\\", "\n", "é", "É", "😀");
    const text = fc.array(characters, { maxLength: 12, size: "max" }).map((parts) => parts.join(""));
    let fitting = 0;
    fc.assert(
      fc.property(text, text, (name, pattern) => {
        expect(fits(name, pattern)).toBe(model(name, pattern));
        // Most pairs do not fit, so one is made that often does.
        const half = pattern.slice(0, 3) + name.slice(3).replaceAll(/[ab]/g, "*");
        expect(fits(name, half)).toBe(model(name, half));
        if (model(name, half)) fitting += 1;
      }),
      { numRuns: 2_000 },
    );
    expect(fitting).toBeGreaterThan(50);
  });

  it("fits if one of several does", () => {
    expect(fits("PATH", "HOME", "p?th", "x*")).toBe(true);
    expect(fits("PATH", "HOME", "x*", "")).toBe(false);
    expect(fits("PATH")).toBe(false);
    expect(fits("", "x", "")).toBe(true);
  });

  it("takes characters one by one, each in its own lower case", () => {
    expect(fits("ΑΣ", "ασ")).toBe(true);
    expect(fits("ΑΣ", "ας")).toBe(false);
    expect(fits("\u212a", "k")).toBe(true);
    expect(fits("İ", "i\u0307")).toBe(false);
    expect(fits("İx", "İX")).toBe(true);
    expect(fits("\ud800", "\ud801")).toBe(false);
  });

  it("finds out about a long name and many stars with little work", () => {
    const work = new MatchingWork();
    const { left } = work;
    expect(new NamePatterns(["*a*a*a*a*a*a*b"], work).fits("a".repeat(300))).toBe(false);
    expect(left - work.left).toBeLessThan(2_000);
  });

  it.each([
    ["every character with every other", ["a".repeat(100_000)], [`*${"a".repeat(50_000)}b`]],
    ["many names", Array.from({ length: 200_000 }, (_, index) => `n${index}`), ["x"]],
    ["many patterns", ["name"], Array.from({ length: 200_000 }, (_, index) => `n${index}`)],
    ["a pattern of megabytes", ["name"], ["x".repeat(60_000_000)]],
    ["a name of megabytes", ["x".repeat(60_000_000)], ["name"]],
    ["a foreign name", ["é".repeat(500_000)], ["name"]],
  ] as const)("gives up before %s takes long", (_, names, patterns) => {
    const match = (): unknown => {
      const matching = new NamePatterns(patterns, new MatchingWork());
      return names.map((name) => matching.fits(name));
    };
    expect(match).toThrow(CapabilityError);
    expect(match).toThrow("too many comparisons");
  });

  it("gives no wrong answer, however little work is left", () => {
    const answers = Array.from({ length: 200 }, (_, left) => {
      try {
        return new NamePatterns(["*aab"], new MatchingWork(left)).fits("aaaaab");
      } catch {
        return "gave up";
      }
    });
    expect(new Set(answers)).toEqual(new Set(["gave up", true]));
  });
});
