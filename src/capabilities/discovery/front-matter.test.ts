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
