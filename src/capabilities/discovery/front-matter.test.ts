import { expect, it } from "vitest";
import { readFrontMatter } from "./front-matter.ts";

it.each([
  ["name: 1.50\ndescription: true", "1.50", "true"],
  ["name: a: b\ndescription: it's: so # comment", "a: b", "it's: so"],
  ["name: n\ndescription: @d\nother: [", "n", "@d"],
  ["name: &x n\ndescription: *x", "n", "n"],
  ["description: d\nmore: 1\nmore: 2", undefined, "d"],
])("reads %j", async (head, name, description) => {
  expect(await readFrontMatter(`---\n${head}\n---\n`)).toEqual({
    name,
    description,
    shortDescription: undefined,
  });
});

it.each([
  "name: n",
  "name: n\ndescription: ~",
  "name: [n]\ndescription: d",
  "name: n\nname: n\ndescription: d",
  "name: n\ndescription: d\nmetadata: 3",
  "name: n\ndescription: 'd",
  `description: ${"d".repeat(70_000)}`,
  "",
])("refuses what cannot be used, case %#", async (head) => {
  await expect(readFrontMatter(`---\n${head}\n---\n`)).rejects.toThrow(Error);
});

it.each(["", "---\ndescription: d\n", "\ufeff---\ndescription: d\n---\n", "----\ndescription: d\n----\n"])(
  "finds none in %j",
  async (text) => {
    await expect(readFrontMatter(text)).rejects.toThrow("missing YAML front matter");
  },
);

// Where the parser's stack ends, a regular expression that is compiled just then ends the program.
it.each([
  `other: ${"[".repeat(8000)}`,
  `other: ${"{a: ".repeat(2000)}`,
  "- ".repeat(4000),
  "? ".repeat(4000),
  Array.from({ length: 120 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n"),
])("refuses levels without end, case %#", async (other) => {
  await expect(readFrontMatter(`---\ndescription: d\n${other}\n---\n`)).rejects.toThrow("nested too deeply");
});

it("reads brackets that stand for themselves", async () => {
  const description = "use [a], {b} and [[c]], ".repeat(100).trim();
  expect(await readFrontMatter(`---\ndescription: Use ${description}\n---\n`)).toMatchObject({
    description: `Use ${description}`,
  });
});

it("takes no long time for text that was made for it", async () => {
  const heads = [
    `description: a${" ".repeat(8000)}x`,
    `other: [${",".repeat(8000)}`,
    "!a ".repeat(2700),
    "k: {[\n".repeat(1300),
    "a: 1\n".repeat(1600),
    "%a\n".repeat(2600),
  ];
  for (const head of heads) {
    const start = process.cpuUsage();
    await readFrontMatter(`---\n${head}\n---\n`).catch(() => {});
    const { user } = process.cpuUsage(start);
    // The slowest takes some 60 ms; with 64 KiB it was 14 s.
    expect(user / 1000, head.slice(0, 20)).toBeLessThan(1500);
  }
});
