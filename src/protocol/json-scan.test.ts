import fc from "fast-check";
import { userTime } from "../../test/fixtures/user-time.ts";
import { describe, expect, it, vi } from "vitest";
import { parseJson } from "./json-scan.ts";

const MIB = 1024 * 1024;
const MAX_VALUES = 262_144;
const MAX_DEPTH = 127;

/** Whether a text reached `JSON.parse`, and why it was refused. */
function attempt(text: string): { parsed: boolean; fault: string | undefined } {
  const parse = vi.spyOn(JSON, "parse");
  try {
    parseJson(text);
    return { parsed: true, fault: undefined };
  } catch (error) {
    return {
      parsed: parse.mock.calls.some(([argument]) => argument === text),
      fault: (error as Error).message,
    };
  } finally {
    parse.mockRestore();
  }
}

describe("what is too much is refused before it is parsed", () => {
  it.each([
    ["arrays", "[".repeat(60 * MIB)],
    ["objects", '{"a":'.repeat(10 * MIB)],
    ["arrays in params", `{"id":1,"method":"x","params":${"[".repeat(10 * MIB)}`],
    ["both, with blanks", '[ {"a" :\n'.repeat(MIB)],
    ["one level too many", `${"[".repeat(MAX_DEPTH + 1)}${"]".repeat(MAX_DEPTH + 1)}`],
  ])("nesting: %s", (_, text) => {
    const { parsed, fault } = attempt(text);
    expect({ parsed, fault }).toEqual({ parsed: false, fault: expect.stringMatching(/^recursion limit/) });
  });

  it.each([
    ["objects", `[${"{},".repeat(20 * MIB)}{}]`],
    ["numbers", `{"id":1,"params":[${"0,".repeat(5 * MIB)}0]}`],
    ["strings", `[${'"a",'.repeat(5 * MIB)}0]`],
    ["words", `[${"null,".repeat(MIB)}null]`],
    ["members", `{${'"a":1,'.repeat(MIB)}"b":2}`],
    ["one too many", `[${"0,".repeat(MAX_VALUES - 1)}0]`],
  ])("values: %s", (_, text) => {
    const { parsed, fault } = attempt(text);
    expect({ parsed, fault }).toEqual({
      parsed: false,
      fault: expect.stringContaining("exceeds the limit of 262144 JSON values"),
    });
  });

  it("are counted only until there are too many", () => {
    // Two characters for each, after a bracket; the last one counted may have been a key.
    expect(attempt(`[${"0,".repeat(MIB)}0]`).fault).toMatch(
      new RegExp(`column ${2 * (MAX_VALUES + 2) - 1}$`),
    );
  });
});

describe("different keys", () => {
  const members = (from: number, count: number): string =>
    Array.from({ length: count }, (_, index) => `"k${from + index}":0`).join(",");

  it("are refused above 16384 in one object, before they are parsed", () => {
    const { parsed, fault } = attempt(`{"params":{${members(0, 16_384)}}}`);
    expect({ parsed, fault }).toEqual({
      parsed: false,
      fault: expect.stringMatching(/exceeds the limit of 16384 different keys at line 1 column/),
    });
    expect(attempt(`{"params":{${members(0, 16_383)}}}`).parsed).toBe(true);
  });

  it("are counted in all objects together", () => {
    const objects = Array.from({ length: 200 }, (_, index) => `{${members(index * 100, 100)}}`);
    expect(attempt(`[${objects.join(",")}]`)).toMatchObject({ parsed: false });
  });

  it("are counted once each, however often they come", () => {
    const object = '{"name":"x","value":"y"}';
    expect(attempt(`[${`${object},`.repeat(80_000)}${object}]`)).toEqual({ parsed: true, fault: undefined });
  });
});

it.each([
  ["escapes", `{"a":"${"\\n".repeat(20 * MIB)}"}`, /limit of 524288 escapes at position/],
  ["escapes after plain text", `["${"x".repeat(5000)}${"\\u0041".repeat(5 * MIB)}"]`, /escapes at position/],
  ["a key", `{"a":{"${"k".repeat(2 * MIB)}":1}}`, /key exceeds the limit of 16384 characters at position/],
  ["blanks", `{"a":${" ".repeat(40 * MIB)}1}`, /limit of 8388608 characters outside strings at position/],
  [
    "blanks between strings",
    `["a",${`${" ".repeat(99)}"b",`.repeat(200_000)}"c"]`,
    /characters outside strings/,
  ],
  ["digits", `[1${"0".repeat(40 * MIB)}]`, /characters outside strings/],
])("too much that costs more than plain text is refused before it is parsed: %s", (_, text, fault) => {
  expect(attempt(text)).toEqual({ parsed: false, fault: expect.stringMatching(fault) });
});

it("many keys of the same length take no longer than as much other text", () => {
  const keys = (length: number): string[] =>
    Array.from({ length: 2_000 }, (_, index) => `"${"k".repeat(length - 6)}${100_000 + index}":1`);
  const took = userTime(() => {
    expect(attempt(`{${keys(16_382).join()}}`).fault).toBeUndefined();
    expect(attempt(`{${keys(16_384).join()}}`).fault).toContain("key exceeds the limit");
  });
  // V8 gives keys that are a little longer one hash, and needs seconds for them.
  expect(took).toBeLessThan(1_500);
});

it("as much as the wire allows is parsed", () => {
  expect(attempt(`["${"x".repeat(20 * MIB)}",${" ".repeat(7 * MIB)}"${"\\n".repeat(MIB / 2)}"]`)).toEqual({
    parsed: true,
    fault: undefined,
  });
  expect(attempt(`[${"0,".repeat(MAX_VALUES - 2)}0]`).parsed).toBe(true);
  expect(attempt(`{${Array.from({ length: 1000 }, (_, index) => `"${index}":0`).join()}}`).fault).toBe(
    undefined,
  );
  expect(attempt(`${"[".repeat(MAX_DEPTH)}${"]".repeat(MAX_DEPTH)}`)).toEqual({
    parsed: true,
    fault: undefined,
  });
});

it("the walk finds in any JSON what is there, and lets any other text to the parser", () => {
  const json = fc.json({ maxDepth: 6, depthSize: "large" });
  const odd = fc.string({
    unit: fc.constantFrom(...Array.from('"\\{}[]:, \nu0dea1')),
    maxLength: 200,
    size: "max",
  });
  fc.assert(
    fc.property(fc.oneof(json, odd), fc.nat({ max: 200 }), (text, cut) => {
      for (const tried of [text, text.slice(0, cut), `{"id":${text}}`]) {
        let expected: unknown;
        try {
          expected = JSON.parse(tried);
        } catch {
          expect(() => parseJson(tried)).toThrow(SyntaxError);
          continue;
        }
        expect(attemptValue(tried)).toEqual(expected);
      }
    }),
    { numRuns: 500 },
  );
});

/** The value, unless a key is in it twice, which the walk finds and the parser does not. */
function attemptValue(text: string): unknown {
  try {
    return parseJson(text).value;
  } catch (error) {
    expect((error as Error).message).toMatch(/^duplicate JSON object key/);
    return JSON.parse(text);
  }
}

it("strings end where they end, whatever is escaped in them, at any distance", () => {
  const piece = fc.oneof(
    fc.constantFrom('\\"', "\\\\", "\\n", "\\u0022", "a", "é", "[", "{}", ":"),
    fc.integer({ min: 30, max: 3000 }).map((length) => "x".repeat(length)),
    fc.integer({ min: 1, max: 2000 }).map((length) => "\\\\".repeat(length)),
    fc.integer({ min: 1, max: 2000 }).map((length) => '\\"'.repeat(length)),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30, size: "max" }), (pieces) => {
      const string = `"${pieces.join("")}"`;
      expect(parseJson(`{"x":[],"id":${string},"y":[{}]}`).memberText).toBe(string);
    }),
  );
});

it("a key that is there twice is reported, by its beginning when it is long", () => {
  const key = "k".repeat(16_000);
  expect(attempt(`{"a":{"${key}":1,"${key}":2}}`).fault).toMatch(/^duplicate JSON object key `k{256}…` at /);
  expect(attempt('{"a":[{"b":1},{"b":1,"\\u0062":2}]}').fault).toMatch(/^duplicate JSON object key `b` at /);
});

it("long text takes no longer than some times what the parser takes", () => {
  const shapes = {
    blanks: `{"id":1,"x":${" ".repeat(2 * MIB)}0}`,
    digits: `{"id":${"1".repeat(2 * MIB)}}`,
    "escaped quotes": `{"id":"${'\\"'.repeat(MIB)}"}`,
    backslashes: `{"id":"${"\\\\".repeat(MIB)}"}`,
    "escaped quotes, far apart": `{"id":"${`${"x".repeat(100)}\\"`.repeat(20_000)}"}`,
    letters: `{"id":"${"x".repeat(2 * MIB)}"}`,
    "not ended": `{"id":"${'\\"'.repeat(MIB)}`,
    "a long key": `{"${"k".repeat(2 * MIB)}":1}`,
  };
  const slow = Object.entries(shapes).filter(([, text]) => {
    const time = (work: (text: string) => unknown): number => {
      const started = process.cpuUsage();
      try {
        work(text);
      } catch {
        // Both refuse it.
      }
      return process.cpuUsage(started).user;
    };
    const parser = time(JSON.parse);
    const ours = Math.min(...[1, 2].map(() => time(parseJson)));
    // Microseconds. Quadratic work takes minutes for this much.
    return ours > 40 * parser + 1_500_000;
  });
  expect(slow.map(([name]) => name)).toEqual([]);
}, 60_000);

it.each([
  ['[1,\n {"a":1,"a":2}]', "duplicate JSON object key `a` at line 2 column 11"],
  ['{"a":1,"b":{"a":2},"b":3}', "duplicate JSON object key `b` at line 1 column 22"],
  ['{"a":[{"x":1},{"x":2}],"\\u0061":3}', "duplicate JSON object key `a` at line 1 column 31"],
  ['{"a":"a","b" : "a","b" :1}', "duplicate JSON object key `b` at line 1 column 22"],
])("of %j, the repeated key is told with its place", (text, fault) => {
  expect(() => parseJson(text)).toThrow(fault);
});

it.each([
  ['{"id":12345678901234567890,"x":{"id":1}}', "12345678901234567890"],
  ['{"x":{"id":1},"id" : "a\\"b" }', '"a\\"b"'],
  ['{"\\u0069d":7}', "7"],
  ['{"ide":7,"i":8}', undefined],
  ['{"id":[1]}', undefined],
  ['["id",7]', undefined],
  ['{"id":null}', "null"],
  ['{"id":-1\n}', "-1"],
])("of %j, the id is told as it is written: %s", (text, expected) => {
  expect(parseJson(text).memberText).toBe(expected);
});

it("limits count to the character", () => {
  const outside = 8 * MIB;
  expect(attempt(`[${" ".repeat(outside - 2)}1]`).fault).toBeUndefined();
  expect(attempt(`[${" ".repeat(outside - 1)}1]`).fault).toContain(
    "characters outside strings at position 8388609",
  );
  expect(attempt(`{"${"k".repeat(16_382)}":1}`).fault).toBeUndefined();
  expect(attempt(`{"${"k".repeat(16_383)}":1}`).fault).toContain("key exceeds the limit of 16384 characters");
  expect(attempt(`["${"\\n".repeat(MIB / 2)}"]`).fault).toBeUndefined();
  expect(attempt(`["${"\\n".repeat(MIB / 2 + 1)}"]`).fault).toContain("the limit of 524288 escapes");
});

it("a place is reported by line and column up to a mebibyte, and by its number beyond", () => {
  const deep = "[".repeat(MAX_DEPTH + 1);
  const fault = (text: string): string | undefined => attempt(text).fault;
  expect(fault(`\n\n ${deep}`)).toBe(`recursion limit exceeded at line 3 column ${MAX_DEPTH + 2}`);
  const before = `"${"x".repeat(MIB - MAX_DEPTH - 3)}",`;
  expect(fault(`[${before}${deep.slice(1)}`)).toBe(`recursion limit exceeded at line 1 column ${MIB + 1}`);
  expect(fault(`[${before} ${deep.slice(1)}`)).toBe(`recursion limit exceeded at position ${MIB + 1}`);
});
