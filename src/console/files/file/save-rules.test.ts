import * as fc from "fast-check";
import { expect, test } from "vitest";
import { differenceOf, judgeChange, judgeSave } from "./save-rules.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const [base, mine, theirs] = [bytes("base"), bytes("mine"), bytes("they")];

test("saving writes over what was opened, and over nothing else", () => {
  expect(judgeSave(base, base, mine)).toBe("write");
  expect(judgeSave(base, theirs, mine)).toBe("conflict");
  expect(judgeSave(base, bytes(""), mine)).toBe("conflict");
  expect(judgeSave(base, mine, mine)).toBe("done");
  expect(judgeSave(base, undefined, mine)).toBe("write");
});

test("a change on the disk is shown, unless there are changes here", () => {
  expect(judgeChange(base, theirs, false)).toBe("reload");
  expect(judgeChange(base, theirs, true)).toBe("conflict");
  expect(judgeChange(base, base, true)).toBe("nothing");
  expect(judgeChange(base, undefined, false)).toBe("gone");
});

test("the difference of two texts turns one into the other", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "\n") });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const { from, to, insert } = differenceOf(before, after);
      expect(before.slice(0, from) + insert + before.slice(to)).toBe(after);
    }),
  );
  expect(differenceOf("one two three", "one 2 three")).toEqual({ from: 4, to: 7, insert: "2" });
});
