import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Encoding, ENCODINGS } from "./encodings.ts";
import { bytesOf, contentOf, endingOf, hexRows, imageType, type TextContent } from "./file-content.ts";

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

test("a text in another encoding is saved with the same bytes, or is not exact", () => {
  const latin = Uint8Array.from([...encode("caf"), 0xe9, ...encode(" and more text in it\r\n")]);
  const content = contentOf(latin, true);
  expect(content).toMatchObject({ encoding: "windows-1252", ending: "crlf", isExact: true });
  expect(bytesOf("café and more text in it\n", content as TextContent)).toEqual(latin);
  expect(contentOf(latin, true, "utf-8")).toMatchObject({ encoding: "utf-8", isExact: false });
  // Two bytes for a character, which browsers cannot write.
  const japanese = Uint8Array.of(0x93, 0xfa, 0x96, 0x7b);
  expect(contentOf(japanese, true, "shift_jis")).toMatchObject({ text: "日本", isExact: false });
  const marked = Uint8Array.of(0xff, 0xfe, 0x61, 0, 0x0a, 0);
  expect(contentOf(marked, true)).toMatchObject({
    encoding: "utf-16le",
    text: "a\n",
    hasMark: true,
    isExact: true,
  });
  expect(contentOf(marked.subarray(0, 5), true)).toMatchObject({ encoding: "utf-16le", isExact: false });
});

test("whatever bytes a file has, and in whatever encoding it is shown: it is saved as it was, or not at all", () => {
  const encodings = fc.constantFrom(...(Object.keys(ENCODINGS) as Encoding[]));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60, size: "max" }), encodings, (bytes, encoding) => {
      const content = contentOf(bytes, true, encoding) as TextContent;
      if (content.isExact) expect([...bytesOf(content.text, content)]).toEqual([...bytes]);
    }),
  );
});

test("bytes with zeros are no text, unless they are asked for as text", () => {
  const zip = Uint8Array.of(0x50, 0x4b, 0, 0);
  expect(contentOf(zip, true)).toEqual({ kind: "binary" });
  expect(contentOf(zip, true, "utf-8")).toMatchObject({ text: "PK\0\0", isExact: true });
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
