import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Desk } from "./page/desk.ts";
import { playPage } from "./page/page.ts";

const PAGE = fileURLToPath(new URL("../../docs/guide/command-line.md", import.meta.url));

// If the output is meant to change: npm run docs:command-line
test("every command prints what the page of the command line shows", async () => {
  await using desk = await Desk.open();
  const page = await playPage(await readFile(PAGE, "utf8"), desk);
  await expect(page).toMatchFileSnapshot(PAGE);
});
