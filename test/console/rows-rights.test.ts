import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launchChromium } from "../fixtures/launch-chromium.ts";
import { ConsolePage } from "./console-page.ts";
import { ConsoleServer } from "./console-server.ts";

const TOKENS = { boxed: "a-token-that-is-sandboxed", watcher: "a-token-that-only-watches" };

let browser: Browser;
let server: ConsoleServer;
let shared: string;

beforeAll(async () => {
  shared = await mkdtemp("/var/tmp/exec-server-shared-");
  for (const name of ["own", "other", "tokens"]) await mkdir(join(shared, name));
  await writeFile(join(shared, "own/numbers.csv"), "n\n1\n2\n");
  const rights = {
    boxed: `preset = "sandboxed"\npolicy = { read = ["/"], write = [${JSON.stringify(join(shared, "own"))}] }`,
    watcher: 'preset = "observe"\nsee = ["boxed"]',
  };
  const table = Object.entries(TOKENS).map(([name, token]) => {
    const sha256 = createHash("sha256").update(token).digest("hex");
    return `[[token]]\nname = "${name}"\nsha256 = "${sha256}"\n${rights[name as keyof typeof rights]}\n`;
  });
  const path = join(shared, "tokens/tokens.toml");
  await writeFile(path, table.join("\n"), { mode: 0o600 });
  const args = ["--ws-auth", "token-table", "--ws-token-table", path];
  [browser, server] = await Promise.all([launchChromium(), ConsoleServer.start({ args })]);
});

afterAll(async () => {
  await Promise.all([browser?.close(), server?.[Symbol.asyncDispose]()]);
  await rm(shared, { recursive: true, force: true });
});

async function openWith(token: string): Promise<ConsolePage> {
  const opened = await ConsolePage.open(browser, `${server.origin}/r`);
  await opened.page.getByLabel("Token").fill(token);
  await opened.page.keyboard.press("Enter");
  return await opened.ready();
}

it("a job has the sandbox of the token, and whoever may only watch sees it and nothing else", async () => {
  await using boxed = await openWith(TOKENS.boxed);
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

  await using watcher = await openWith(TOKENS.watcher);
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
  await using host = await server.connect({ token: TOKENS.boxed });
  expect((await host.processes({ scope: "kept" })).map(({ state }) => state)).toEqual(["closed"]);
  boxed.expectClean();
});
