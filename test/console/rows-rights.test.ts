import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TokenConsole } from "./token-console.ts";

const TOKENS = { boxed: "a-token-that-is-sandboxed", watcher: "a-token-that-only-watches" };

let users: TokenConsole;
let shared: string;

beforeAll(async () => {
  users = await TokenConsole.open(TOKENS, async (directory) => {
    for (const name of ["own", "other"]) await mkdir(join(directory, name));
    await writeFile(join(directory, "own/numbers.csv"), "n\n1\n2\n");
    const write = JSON.stringify([join(directory, "own")]);
    return {
      boxed: `preset = "sandboxed"\npolicy = { read = ["/"], write = ${write} }`,
      watcher: 'preset = "observe"\nsee = ["boxed"]',
    };
  });
  ({ shared } = users);
});

afterAll(async () => users?.[Symbol.asyncDispose]());

it("a job has the sandbox of the token, and whoever may only watch sees it and nothing else", async () => {
  await using boxed = await users.signIn(TOKENS.boxed, "/r");
  const { page } = boxed;
  await page.getByRole("button", { name: "Start" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Rows", { exact: true }).fill(join(shared, "own/numbers.csv"));
  await dialog
    .getByLabel("Command for each row")
    .fill(`touch ${join(shared, "own")}/{n}; touch ${join(shared, "other")}/{n}; exec sleep 600`);
  await dialog.getByRole("button", { name: "Start" }).click();
  await expect.poll(() => page.locator(".rows-counts .running dd").innerText()).toBe("2");
  await expect.poll(() => existsSync(join(shared, "own/2"))).toBe(true);

  await using watcher = await users.signIn(TOKENS.watcher, "/r");
  const seen = watcher.page;
  await seen.getByRole("link", { name: "numbers.csv" }).waitFor();
  expect(await seen.locator(".view button").allInnerTexts()).toEqual(["Open"]);
  await seen.getByRole("link", { name: "numbers.csv" }).click();
  await seen.getByRole("alert").getByText("Your access does not include this").waitFor();
  expect(await seen.locator(".view button").count()).toBe(0);
  watcher.expectClean();

  await page.getByRole("button", { name: "Stop" }).click();
  await dialog.getByRole("button", { name: "Stop" }).click();
  await page.locator(".rows-head").getByText("SIGINT").waitFor();
  expect(existsSync(join(shared, "other/1"))).toBe(false);
  // Nothing is left of it.
  await using host = await users.server.connect({ token: TOKENS.boxed });
  await expect
    .poll(async () => (await host.processes({ scope: "kept" })).map(({ state }) => state))
    .toEqual(["closed"]);
  boxed.expectClean();
});
