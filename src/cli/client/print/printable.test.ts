import { expect, test } from "vitest";
import { printable, printableJson } from "./printable.ts";

test("what a terminal would carry out is shown escaped", () => {
  expect(printable("a\u001b]0;title\u0007b\n\r\t\u0000\u007f\u009bc")).toBe(
    "a\\x1b]0;title\\x07b\\n\\r\\t\\x00\\x7f\\x9bc",
  );
  expect(printable("gpj.\u202eexe \u2028 \u2066x \ud800")).toBe("gpj.\\u202eexe \\u2028 \\u2066x \\ud800");
});

test("other text stays as it is", () => {
  const text = "grün 日本 👍🏽 é \\x1b 'quoted'";
  expect(printable(text)).toBe(text);
});

test("JSON keeps its value and contains no control", () => {
  const value = { name: "\u001b[2J\u009b\u007f\u2028\u202e日\ud800" };
  const text = printableJson(value);
  expect(JSON.parse(text)).toEqual(value);
  expect(text).toMatch(/^[^\p{Cc}\u2028\u202e]*$/u);
});
