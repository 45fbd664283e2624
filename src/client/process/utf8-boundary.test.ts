import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CharacterJoiner, cutEnd, cutStart } from "./utf8-boundary.ts";

const utf8 = new TextEncoder();

describe("cutEnd and cutStart", () => {
  it.each([1, 2, 3])("step back from inside a character of four bytes, at byte %i of it", (inside) => {
    const bytes = utf8.encode("a😀b");
    expect(cutEnd(bytes, 1 + inside)).toBe(1);
    expect(cutStart(bytes, 1 + inside)).toBe(5);
  });

  it("leave a cut between characters where it is", () => {
    const bytes = utf8.encode("a😀b");
    for (const offset of [0, 1, 5, 6]) {
      expect(cutEnd(bytes, offset)).toBe(offset);
      expect(cutStart(bytes, offset)).toBe(offset);
    }
  });
});

describe("CharacterJoiner", () => {
  it("gives pieces of whole characters that make up the text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 200, size: "max" }),
        fc.integer({ min: 1, max: 5 }),
        (text, step) => {
          const joiner = new CharacterJoiner();
          const bytes = utf8.encode(text);
          const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
          let joined = "";
          for (let start = 0; start < bytes.length; start += step)
            joined += strict.decode(joiner.push(bytes.subarray(start, start + step)));
          expect(joined).toBe(text);
          expect(joiner.flush()).toEqual(new Uint8Array(0));
        },
      ),
    );
  });

  it("gives back what never became a character", () => {
    const joiner = new CharacterJoiner();
    expect(joiner.push(Uint8Array.of(0x61, 0xf0, 0x9f))).toEqual(Uint8Array.of(0x61));
    expect(joiner.flush()).toEqual(Uint8Array.of(0xf0, 0x9f));
    expect(joiner.flush()).toEqual(new Uint8Array(0));
  });
});
