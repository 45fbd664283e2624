import { expect, it } from "vitest";
import { previewJson } from "./json-preview.ts";

const LIMITS = { lines: 10, characters: 20, depth: 4 };

function textOf(value: unknown, limits = LIMITS): string[] {
  return previewJson(value, limits).lines.map(
    ({ depth, tokens }) => "  ".repeat(depth) + tokens.map(({ text }) => text).join(""),
  );
}

it.each([{ a: [1, "x", null, true], b: {}, c: [] }, [], "text", 7, null])(
  "%j is written as JSON",
  (value) => {
    expect(textOf(value)).toEqual(JSON.stringify(value, null, 2).split("\n"));
    expect(previewJson(value, LIMITS).isCut).toBe(false);
  },
);

it("marks that turn or hide text are visible", () => {
  expect(textOf({ "\u202ekey": "\u202evalue\u0007" })[1]).toBe('  "\\u202ekey": "\\u202evalue\\u0007"');
});

it("long text is cut, and its length said", () => {
  const [line] = textOf("x".repeat(2_000_000));
  expect(line).toBe(`"${"x".repeat(20)}" … 1.9 MiB in all`);
  expect(previewJson("x".repeat(21), LIMITS).isCut).toBe(true);
});

it("base64 has the text beside it that it stands for", () => {
  expect(textOf({ chunk: "aGkK" })[1]).toBe('  "chunk": "aGkK"  is "hi\\n"');
  expect(textOf({ dataBase64: "/w==" })[1]).toBe('  "dataBase64": "/w=="');
  expect(textOf({ name: "aGkK" })[1]).toBe('  "name": "aGkK"');
});

it("many values are cut", () => {
  const preview = previewJson(
    Array.from({ length: 1_000_000 }, (_, index) => index),
    LIMITS,
  );
  expect(preview.lines).toHaveLength(11);
  expect(preview.isCut).toBe(true);
});

it("deep values are cut", () => {
  let deep: unknown = "end";
  for (let depth = 0; depth < 100_000; depth++) deep = [deep];
  const preview = previewJson(deep, LIMITS);
  expect(preview.isCut).toBe(true);
  expect(preview.lines.length).toBeLessThan(11);
});
