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

test.each([
  ["one", 1],
  ["one\n", 1],
  ["one\ntwo\r\nthree\n", 3],
  ["one\n\n", 2],
  ["", 1],
])("%j has %i lines", (text, lines) => {
  expect(contentsOf(text).lines).toBe(lines);
});

test("ends of lines are the Enter key", () => {
  expect(pasted("a\nb\r\nc\rd", { bracketed: false })).toBe("a\rb\rc\rd");
});

test.each([
  "a\u001b[201~\nrm -rf /\n",
  "\u001b[20\u001b[201~1~\nevil",
  "\u001b\u001b[201~\nevil",
  "\u001b\u009b201~\nevil",
  "\u009b201~evil",
])("%j cannot end its own brackets", (evil) => {
  const sent = pasted(evil, { bracketed: true });
  const inside = sent.slice("\u001b[200~".length, -"\u001b[201~".length);
  expect(sent).toBe(`\u001b[200~${inside}\u001b[201~`);
  expect(inside).not.toContain("\u001b");
  expect(inside).not.toContain("\u009b");
});
