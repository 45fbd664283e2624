import type { SeededRandom } from "../fault/seeded-random.ts";
import { logUniform } from "./hostile-run.ts";

/** Parts of strings, as JSON spells them, that programs trip over. */
const ODD = [
  "\\ud800",
  "\\udfff",
  "\\udc00\\ud800",
  "\\u0000",
  "\\u0001",
  "\\u001b[2J",
  "\\u007f",
  "\\u2028",
  "\\ufeff",
  "\\uffff",
  "\\u202e",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "valueOf",
  "then",
  "length",
  "0",
  "-1",
  "NaN",
  "null",
  "%",
  "%0",
  "%00",
  "%ff",
  "%FF%FE",
  "%E0%A4%A",
  "%2e%2e",
  "%5c",
  "..",
  ".",
  "/",
  "//",
  "\\\\",
  '\\"',
  "'",
  "`",
  "$(id)",
  "\\n",
  "\\r\\n\\r\\n",
  " ",
  "\\t",
  "\u00e9",
  "e\u0301",
  "\u{1f468}\u200d\u{1f469}",
  "\u0130",
  "\u00df",
  "\uff0f",
  "\u2024\u2024",
  "=",
  "A=B",
  "*",
  "[",
  "(",
  "{",
  "~",
  "-",
  "--",
  "@",
  "#",
  "?",
] as const;

/** Wholes that look like what a field wants. */
const WHOLES = [
  "",
  "http://%ff@127.0.0.1:1/",
  "http://a:%ff@127.0.0.1:1/",
  "http://@127.0.0.1:1/",
  "http://[::1",
  "http://127.0.0.1:99999/",
  "http://%00/",
  "https://127.0.0.1:1/%ff",
  "http://\\ud800/",
  "http:127.0.0.1:1",
  "http://xn--/",
  "http://127.1:1/",
  "http://0x7f.1:1/",
  "ftp://127.0.0.1/",
  "http://user:pass@",
  "data:,x",
  "file:///%ff%fe",
  "file:///%00",
  "file:///\\ud800",
  "file://%ff/",
  "file:",
  "file:x",
  "file:///C:/",
  "file:////",
  "file://localhost/x",
  "/\\ud800",
  "/%00",
  "\\u0000",
  "====",
  "A===",
  "AA=A",
  "\\ud800AAA",
] as const;

/** The JSON text of an unusual string, starting like the field's values, if known. */
export function oddString(random: SeededRandom, usual: string | undefined): string {
  const scheme = /^(http|file)/.exec(usual ?? "")?.[0] ?? "";
  if (random.next() < 0.4) return `"${random.pick(WHOLES.filter((whole) => whole.startsWith(scheme)))}"`;
  const parts: string[] = Array.from({ length: random.pick([1, 1, 2, 3]) }, () => random.pick(ODD));
  if (random.next() < 0.15) {
    const unit = random.pick(["x/", "x", "%41/", "../", "a"]);
    parts.push(unit.repeat(logUniform(random, 100, 400_000)));
  }
  const prefix = usual !== undefined && random.next() < 0.7 ? JSON.stringify(usual).slice(1, -1) : "";
  return `"${prefix}${parts.join("")}"`;
}

/** Bytes that are not UTF-8, each in its own way. */
export const NOT_UTF8: readonly Buffer[] = [
  [0xff],
  [0xfe, 0xff],
  [0x80],
  [0xc0, 0x80],
  [0xc3],
  [0xe2, 0x82],
  [0xed, 0xa0, 0x80],
  [0xf0, 0x9f, 0x98],
  [0xf4, 0x90, 0x80, 0x80],
].map((bytes) => Buffer.from(bytes));

/** The bytes of a text with others inside one of its strings. */
export function withBytes(text: string, bytes: Buffer, random: SeededRandom): Buffer {
  const quotes = [...text.matchAll(/"/g)].map(({ index }) => index);
  const at = random.pick(quotes) + 1;
  return Buffer.concat([Buffer.from(text.slice(0, at)), bytes, Buffer.from(text.slice(at))]);
}
