import { expect, test } from "vitest";
import { entityText, type MarkdownNode, MarkdownSource, NoPreview } from "./source.ts";

function first(source: MarkdownSource, name: string): MarkdownNode {
  const cursor = source.top.cursor();
  do if (cursor.name === name) return cursor.node;
  while (cursor.next());
  throw new Error(`no ${name}`);
}

test.each([
  ["[a](b.md)", "b.md"],
  ["[a](<b c.md>)", "b c.md"],
  ["[a](b\\_c.md?x&amp;y)", "b_c.md?x&y"],
  ["[a][one]\n\n[One]: first.md\n[one]: second.md", "first.md"],
  ["[one]\n\n[one]: first.md", "first.md"],
  ["[one][]\n\n[one]: first.md", "first.md"],
  ["[a][missing]", undefined],
])("%j points to %j", (text, url) => {
  const source = new MarkdownSource(text);
  expect(source.urlOf(first(source, "Link"))).toBe(url);
});

test("entities that are known are characters", () => {
  expect(["&amp;", "&#65;", "&#x1F600;", "&mdash;"].map(entityText)).toEqual(["&", "A", "😀", "—"]);
  expect(["&none;", "&#0;", "&#x110000;", "&constructor;", "amp"].map(entityText)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

const LONG = 400_000;

test.each([
  ["quotes within quotes", ">".repeat(LONG)],
  ["quotes on every line", "> > > > > > > > a\n".repeat(LONG / 18)],
  [
    "lists within lists",
    Array.from({ length: 800 }, (_, depth) => `${"  ".repeat(depth % 200)}- a`).join("\n"),
  ],
  ["deep lists", "- ".repeat(LONG / 2)],
  ["open brackets", "[".repeat(LONG)],
  ["open pictures", "![".repeat(LONG / 2)],
  ["pairs of brackets", "[](".repeat(LONG / 3)],
  ["stars", "*a ".repeat(LONG / 3)],
  ["stars of both kinds", "*a_ ".repeat(LONG / 4)],
  ["backticks of all lengths", Array.from({ length: 800 }, (_, length) => "`".repeat(length)).join(" ")],
  ["open tags", "<a ".repeat(LONG / 3)],
  ["open comments", "<!-- ".repeat(LONG / 5)],
  ["tables", "a|b\n-|-\n".repeat(LONG / 8)],
  ["a wide table", `${"a|".repeat(5000)}\n${"-|".repeat(5000)}\n${"a|\n".repeat(1000)}`],
  ["labels", "[a]: b\n".repeat(LONG / 7)],
  ["addresses", "www.a.b.".repeat(LONG / 8)],
  ["a paragraph of many marks", "[](".repeat(30_000)],
  ["paragraphs of brackets", `${"[](".repeat(2400)}\n\n`.repeat(40)],
  ["paragraphs of stars", `${"*a_ ".repeat(2400)}\n\n`.repeat(40)],
])("%s are parsed or refused in little time", (_, text) => {
  const began = performance.now();
  try {
    expect(new MarkdownSource(text).top.to).toBe(text.length);
  } catch (error) {
    expect(error).toBeInstanceOf(NoPreview);
  }
  expect(performance.now() - began).toBeLessThan(5000);
});
