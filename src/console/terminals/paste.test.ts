import { expect, test } from "vitest";
import { contentsOf, mustAsk, pasted } from "./paste.ts";

test.each([
  ["ls -la", false, false],
  ["a tab\there", false, false],
  ["ls\n", true, false],
  ["one\ntwo", true, false],
  ["one\r\ntwo", true, false],
  ["\u001b[A", true, true],
  ["delete\u007f", true, true],
  ["\u009b31m", true, true],
  ["Grüße 👋", false, false],
])("%j asks: %s; to a program that knows of pastes: %s", (text, asks, bracketedAsks) => {
  expect(mustAsk(contentsOf(text), { bracketed: false })).toBe(asks);
  expect(mustAsk(contentsOf(text), { bracketed: true })).toBe(bracketedAsks);
});

test("ends of lines are the Enter key", () => {
  expect(pasted("a\nb\r\nc\rd", { bracketed: false })).toBe("a\rb\rc\rd");
});

test("a text cannot end its own brackets", () => {
  const evil = "a\u001b[201~\nrm -rf /\n";
  expect(pasted(evil, { bracketed: true })).toBe("\u001b[200~a[201~\rrm -rf /\r\u001b[201~");
  const nested = "\u001b[20\u001b[201~1~\nevil";
  expect(pasted(nested, { bracketed: true }).split("\u001b[201~")).toHaveLength(2);
  expect(pasted("\u009b201~evil", { bracketed: true })).toBe("\u001b[200~[201~evil\u001b[201~");
});
