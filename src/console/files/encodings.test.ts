import { expect, test } from "vitest";
import { decode, encode, guessEncoding } from "./encodings.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const latin = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0));

test.each([
  ["nothing", Uint8Array.of(), "utf-8"],
  ["ASCII", utf8("plain\n"), "utf-8"],
  ["UTF-8", utf8("Grüße, 日本"), "utf-8"],
  ["UTF-8 with a mark", utf8("\ufeffGrüße"), "utf-8"],
  [
    "UTF-8 with a broken byte",
    Uint8Array.from([...utf8("Grüße "), 0xff, ...utf8(" und mehr davon")]),
    "utf-8",
  ],
  ["Latin-1", latin("Gr\xfc\xdfe aus K\xf6ln"), "windows-1252"],
  ["UTF-16 of Windows", encode("\ufeffGrüße", "utf-16le"), "utf-16le"],
  ["UTF-16 of networks", encode("\ufeffGrüße", "utf-16be"), "utf-16be"],
  ["zeros", Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0), undefined],
  ["controls", Uint8Array.of(0xfe, 1, 2, 3, 4, 0x81), undefined],
] as const)("%s is recognized", (_, bytes, encoding) => {
  expect(guessEncoding(bytes, true)).toBe(encoding);
});

test("a part that ends within a character is still UTF-8", () => {
  expect(guessEncoding(utf8("ü").subarray(0, 1), false)).toBe("utf-8");
  expect(guessEncoding(utf8("ü").subarray(0, 1), true)).toBe("windows-1252");
});

test("every byte of windows-1252 comes back as it was", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  expect(encode(decode(bytes, "windows-1252", true), "windows-1252")).toEqual(bytes);
});

test("a character that the encoding lacks is refused, and named whole", () => {
  expect(() => encode("a漢b", "windows-1252")).toThrow("the page cannot write “漢” in windows-1252");
  expect(() => encode("😀", "koi8-r")).toThrow("“😀”");
  expect(() => encode("\ufffd", "windows-1253")).toThrow("cannot write");
  // It has the character, but browsers have no encoder for it.
  expect(() => encode("日", "shift_jis")).toThrow("the page cannot write “日” in shift_jis");
});
