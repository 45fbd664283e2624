import { expect, test } from "vitest";
import { visibleText } from "./visible-text.ts";

test.each([
  ["plain", "plain"],
  ["Grüße 文件 👋", "Grüße 文件 👋"],
  ["a\nb\tc\r", "a\\nb\\tc\\r"],
  ["\x1b]0;title\x07", "\\x1b]0;title\\x07"],
  ["evil\u202Egpj.exe", "evil\\u202egpj.exe"],
  ["zero\u200bwidth", "zero\\u200bwidth"],
  ["tag\u{E0041}", "tag\\u{e0041}"],
  ["\u0085", "\\x85"],
  ["half \ud800", "half \ufffd"],
])("%j is shown as %j", (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});
