import * as fc from "fast-check";
import { expect, test } from "vitest";
import { decode, encode } from "../encodings.ts";
import { firstLineIn, lastLineIn } from "./page-edges.ts";

test("a part is cut at its lines", () => {
  const bytes = encode("rest of one\ntwo\nthree", "utf-8");
  expect(firstLineIn(bytes, "utf-8")).toBe(12);
  expect(lastLineIn(bytes, "utf-8")).toBe(16);
  const wide = encode("rest\ntwo\nthree", "utf-16be");
  expect(firstLineIn(wide, "utf-16be")).toBe(10);
  expect(lastLineIn(wide, "utf-16be")).toBe(18);
  // 0x0a0a is a letter in UTF-16.
  expect(lastLineIn(encode("\u0a0ab", "utf-16le"), "utf-16le")).toBe(4);
});

test("a break at the very end does not leave an empty page", () => {
  expect(firstLineIn(encode("rest\n", "utf-8"), "utf-8")).toBe(0);
  expect(lastLineIn(encode("rest\n", "utf-8"), "utf-8")).toBe(5);
});

test.each(["utf-8", "utf-16le", "utf-16be"] as const)(
  "without a line break, %s is cut between characters",
  (encoding) => {
    const text = fc.string({ unit: fc.constantFrom("a", "é", "漢", "😀"), minLength: 4, maxLength: 12 });
    fc.assert(
      fc.property(text, fc.nat(), fc.nat(), (line, one, other) => {
        const bytes = encode(line, encoding);
        const unit = encoding === "utf-8" ? 1 : 2;
        const start = (one % bytes.length) - ((one % bytes.length) % unit);
        const part = bytes.subarray(start, start + Math.max(8, other % bytes.length));
        const from = firstLineIn(part, encoding);
        const whole = part.subarray(from, lastLineIn(part, encoding));
        expect(from).toBeLessThan(4);
        expect(decode(whole, encoding, true)).not.toContain("\ufffd");
        if (part.length >= 8) expect(whole.length).toBeGreaterThan(0);
      }),
    );
  },
);
