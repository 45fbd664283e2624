import * as fc from "fast-check";
import { expect, test } from "vitest";
import { bytesOf, contentOf, endingOf, hexRows, imageType } from "./file-content.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

test.each([
  ["a\nb\n", "lf"],
  ["", "lf"],
  ["one line", "lf"],
  ["a\r\nb\r\n", "crlf"],
  ["a\r\nb\n", "mixed"],
  ["a\rb", "mixed"],
  ["a\r\r\nb\r\n", "mixed"],
] as const)("the lines of %j end with %s", (text, ending) => {
  expect(endingOf(text)).toBe(ending);
});

test("a text that is saved without changes has the same bytes, whatever its lines end with", () => {
  const piece = fc.constantFrom("a", "\n", "\r\n", "\r", "é", "\ufeff", "\t");
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const bytes = encode(pieces.join(""));
      const content = contentOf(bytes, true);
      if (content.kind !== "text") throw new Error(content.kind);
      expect([...bytesOf(content.text, content)]).toEqual([...bytes]);
    }),
  );
});

test("text in another encoding is shown, but not exact; bytes with zeros are no text", () => {
  const latin = Uint8Array.from([...encode("caf"), 0xe9, ...encode(" and more text in it")]);
  expect(contentOf(latin, true)).toMatchObject({ kind: "text", isExact: false });
  expect(contentOf(Uint8Array.of(0x50, 0x4b, 0, 0), true)).toEqual({ kind: "binary" });
  expect(contentOf(Uint8Array.of(0xff, 0xfe, 0x81, 0x82), true)).toEqual({ kind: "binary" });
});

test("a part that ends within a character is text", () => {
  const bytes = encode("über der Brücke ü").subarray(0, -1);
  expect(contentOf(bytes, false)).toMatchObject({ kind: "text", isExact: true, text: "über der Brücke " });
  expect(contentOf(bytes, true)).toMatchObject({ kind: "text", isExact: false });
});

test("images are recognized by their names", () => {
  expect(imageType("a.PNG")).toBe("image/png");
  expect([imageType("png"), imageType("a.txt"), imageType("a.constructor")]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("bytes are shown in lines of sixteen", () => {
  const rows = hexRows(Uint8Array.from({ length: 18 }, (_, index) => index + 0x3c));
  expect(rows).toEqual([
    {
      offset: "00000000",
      bytes: "3c 3d 3e 3f 40 41 42 43  44 45 46 47 48 49 4a 4b",
      text: "<=>?@ABCDEFGHIJK",
    },
    { offset: "00000010", bytes: "4c 4d  ", text: "LM" },
  ]);
});
