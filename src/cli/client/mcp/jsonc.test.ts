import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJsonc, withMember } from "./jsonc.ts";

const put = (text: string, key: string, value: unknown): string =>
  withMember(text, parseJsonc(text), key, value);

describe("adds a member", () => {
  it.each([
    ["to an empty object", "{}", '{\n  "new": 1\n}'],
    ["to one on several lines", '{\n    "a": 1\n}\n', '{\n    "a": 1,\n    "new": 1\n}\n'],
    ["to one on a single line", '{"a": 1}', '{"a": 1,\n  "new": 1\n}'],
    ["after a trailing comma", '{\n\t"a": 1, // why\n}', '{\n\t"a": 1, // why\n\t"new": 1\n}'],
    [
      "after a comment",
      '{\n  "a": 1 // why\n  /* more */\n}',
      '{\n  "a": 1, // why\n  /* more */\n  "new": 1\n}',
    ],
    ["to one with a comment only", "{\n  // none\n}", '{\n  // none\n  "new": 1\n}'],
  ])("%s", (_, text, expected) => {
    expect(put(text, "new", 1)).toBe(expected);
  });
});

it("replaces a value, and nothing else", () => {
  const text = '\ufeff{ // begin\n  "a": {"x": [1, 2,],}, /* , */ "b": "a\\"b", // end\n}\n';
  expect(put(text, "a", { y: true })).toBe(text.replace('{"x": [1, 2,],}', '{\n    "y": true\n  }'));
  expect(parseJsonc(text).value).toEqual({ a: { x: [1, 2] }, b: 'a"b' });
});

it("takes nothing but blanks for an indentation, and keeps line ends", () => {
  expect(put('\ufeff{"a": 1}\r\n', "b", [2])).toBe('\ufeff{"a": 1,\r\n  "b": [\r\n    2\r\n  ]\r\n}\r\n');
  expect(() => parseJsonc('{"a":\ufeff1}')).toThrow("line 1 is not JSON");
  expect(() => parseJsonc('{\u00a0"a":1}')).toThrow("line 1 is not JSON");
});

it.each(["", "{", "[1", '{"a" 1}', "{a: 1}", '{"a": 1} x', '{"a": "\n"}', "{,}", "nul", "[".repeat(200)])(
  "refuses %j",
  (text) => {
    expect(() => parseJsonc(text)).toThrow(/^line \d+ is not JSON$/);
  },
);

it("keeps what is there, whatever that is", () => {
  const blank = fc.constantFrom("", " ", "\n", '// § { " ,\n', "/* § } , */", "\t");
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
      fc.string(),
      fc.jsonValue(),
      fc.array(blank, { minLength: 12, maxLength: 12 }),
      fc.boolean(),
      (object, key, value, blanks, trailing) => {
        fc.pre(!("__proto__" in object) && key !== "__proto__");
        const entries = Object.entries(object);
        const next = () =>
          blanks[(entries.length * 7 + key.length) % blanks.length]! + blanks[key.length % 12]!;
        const members = entries.map(
          ([name, each]) => `${next()}${JSON.stringify(name)}${next()}:${JSON.stringify(each)}`,
        );
        const text = `{${members.join(`${next()},`)}${trailing && members.length > 0 ? "," : ""}${next()}}`;
        const changed = put(text, key, value);
        // JSON has no -0.
        expect(parseJsonc(changed).value).toEqual(JSON.parse(JSON.stringify({ ...object, [key]: value })));
        expect(changed.split("§")).toHaveLength(text.split("§").length);
      },
    ),
    { numRuns: 500 },
  );
});
