import { expect, test } from "vitest";
import { strokeText } from "./keys.tsx";

test.each([
  ["n", "N"],
  ["N", "Shift N"],
  ["Ctrl+K", "Ctrl K"],
  ["Alt+Shift+ArrowLeft", "Alt Shift ←"],
  ["/", "/"],
  ["+", "+"],
  ["Ctrl++", "Ctrl +"],
  ["F1", "F1"],
])("%j is shown as %j", (stroke, text) => {
  expect(strokeText(stroke)).toBe(text);
});
