import { expect, it } from "vitest";
import { fitText, helpColumns } from "./fit-text.ts";

it("breaks a paragraph between words, and joins the lines that it had", () => {
  expect(fitText("one two three four\nfive six\n\nseven", 12)).toBe("one two\nthree four\nfive six\n\nseven");
  expect(fitText("one two\nthree", 80)).toBe("one two three");
  // An apostrophe is not a quote.
  expect(fitText("one's two three's", 12)).toBe("one's two\nthree's");
});

it("keeps the second column of a table", () => {
  const table = "Options:\n  -a, --all   one two three four\n              five\n  --beta      six\n";
  expect(fitText(table, 28)).toBe(
    "Options:\n  -a, --all   one two three\n              four five\n  --beta      six\n",
  );
  // A name that is too long for its column gets its own line.
  expect(fitText("  --a-long-name\n              one two three four\n", 28)).toBe(
    "  --a-long-name\n              one two three\n              four\n",
  );
});

it("breaks an example so that it can be pasted, never inside quotes", () => {
  expect(fitText("Examples:\n  program one 'two three' four\n  short", 20)).toBe(
    "Examples:\n  program one \\\n      'two three' \\\n      four\n  short",
  );
});

it("leaves a word that does not fit alone", () => {
  expect(fitText("a incomprehensibilities b", 5)).toBe("a\nincomprehensibilities\nb");
});

it("is as wide as the terminal, up to a hundred columns", () => {
  const widths = [60, 80, 200, 0].map((columns) => helpColumns({ isTTY: true, columns }));
  expect(widths).toEqual([60, 80, 100, 80]);
  expect(helpColumns({ isTTY: false, columns: 200 })).toBe(80);
});
