import { expect, test } from "vitest";
import { keyName, lookUp, mayTake } from "./keys.ts";

const NONE = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };

test.each([
  [{ key: "k", ctrlKey: true }, "Ctrl+K"],
  [{ key: "K", ctrlKey: true, shiftKey: true }, "Ctrl+Shift+K"],
  [{ key: "k", metaKey: true }, "Ctrl+K"],
  [{ key: "?", shiftKey: true }, "?"],
  [{ key: "/" }, "/"],
  [{ key: "Enter", shiftKey: true }, "Shift+Enter"],
  [{ key: "F1" }, "F1"],
  [{ key: "ArrowLeft", altKey: true }, "Alt+ArrowLeft"],
  [{ key: " " }, "Space"],
])("%j is %s", (event, name) => {
  expect(keyName({ ...NONE, ...event })).toBe(name);
});

test.each([
  ["n", "page", true],
  ["n", "field", false],
  ["g p", "field", false],
  ["Ctrl+K", "field", true],
  ["Ctrl+K", "terminal", false],
  ["Ctrl+Shift+F", "terminal", true],
  ["Alt+Shift+ArrowLeft", "terminal", true],
  ["F1", "terminal", true],
  ["F10", "terminal", false],
] as const)("%s in a %s: %s", (keys, context, expected) => {
  expect(mayTake(keys, context)).toBe(expected);
});

test("a sequence is looked up key by key, and the latest command of the same keys wins", () => {
  const commands = [{ keys: "g p" }, { keys: "n" }, { keys: "n", isLate: true }];
  expect(lookUp(commands, "g")).toBe("prefix");
  expect(lookUp(commands, "g p")).toBe(commands[0]);
  expect(lookUp(commands, "n")).toBe(commands[2]);
  expect(lookUp(commands, "x")).toBeUndefined();
});
