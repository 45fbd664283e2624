import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { COMMAND_GROUPS } from "../../src/cli/client/overview.ts";
import { Desk } from "./page/desk.ts";
import { playPage } from "./page/page.ts";

const PAGE = fileURLToPath(new URL("../../docs/guide/command-line.md", import.meta.url));

const TIMEOUT_MS = 300_000;

// If the output is meant to change: npm run docs:command-line
test("every command prints what the page of the command line shows", { timeout: TIMEOUT_MS }, async () => {
  await using desk = await Desk.open();
  const page = await playPage(await readFile(PAGE, "utf8"), desk);
  await expect(page).toMatchFileSnapshot(PAGE);
});

test("the page runs every command", async () => {
  const lines = (await readFile(PAGE, "utf8")).split("\n").filter((line) => line.startsWith("$ "));
  const commands = Object.values(COMMAND_GROUPS).flat();
  const missing = commands.filter(
    (name) => !lines.some((line) => line.match(/exec-server (?:-H \S+ )?([a-z]+)/)?.[1] === name),
  );
  expect(missing).toEqual([]);
});
