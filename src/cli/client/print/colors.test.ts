import { expect, test } from "vitest";
import { colorsFor, hasColors } from "./colors.ts";

const TERMINAL = { isTTY: true };

test.each([
  [TERMINAL, {}, true],
  [{}, {}, false],
  [TERMINAL, { NO_COLOR: "1" }, false],
  [TERMINAL, { NO_COLOR: "" }, true],
  [TERMINAL, { TERM: "dumb" }, false],
  [{}, { FORCE_COLOR: "1" }, true],
  [{}, { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
  [TERMINAL, { FORCE_COLOR: "0" }, false],
])("%o with %o has colours: %s", (stream, environment, expected) =>
  expect(hasColors(stream, environment)).toBe(expected),
);

test("without colours text stays as it is", () => {
  expect(colorsFor(true).red("x")).toBe("\u001b[31mx\u001b[39m");
  expect(colorsFor(true).red("")).toBe("");
  expect(colorsFor(false).red("x")).toBe("x");
});
