import { expect, test } from "vitest";
import { isReply } from "./replies.ts";

test.each([
  ["the kind of terminal", "\u001b[?1;2c", true],
  ["the version", "\u001b[>0;276;0c", true],
  ["the place of the cursor", "\u001b[12;40R", true],
  ["the state", "\u001b[0n", true],
  ["a mode", "\u001b[?2004;1$y", true],
  ["the background", "\u001b]11;rgb:ffff/ffff/ffff\u001b\\", true],
  ["a setting", "\u001bP1$r0m\u001b\\", true],
  ["a letter", "c", false],
  ["an arrow", "\u001b[A", false],
  ["escape", "\u001b", false],
  ["the mouse", "\u001b[<0;3;4M", false],
  ["focus", "\u001b[I", false],
  ["what looks like a reply in a text", "echo \u001b[0n", false],
])("%s is a reply: %3$s", (_what, data, expected) => {
  expect(isReply(data)).toBe(expected);
});
