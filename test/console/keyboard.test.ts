import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launchChromium } from "../fixtures/launch-chromium.ts";
import { ConsolePage } from "./console-page.ts";
import { ConsoleServer } from "./console-server.ts";
import { expectShown } from "./output-screen.ts";
import { expectOnScreen, screenOf, typeLine } from "./terminal-screen.ts";

let browser: Browser;
let server: ConsoleServer;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchChromium(), ConsoleServer.start()]);
});

afterAll(() => Promise.all([browser?.close(), server?.[Symbol.asyncDispose]()]));

it("a key that is pressed while a view is being loaded is one of that view", async () => {
  await using opened = await ConsolePage.open(browser, await server.newLink());
  await opened.ready();
  const { page } = opened;
  await page.goto(`${server.origin}/f`);
  await opened.ready();
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const asked = page.waitForRequest(/terminals-view/);
  await page.route(/terminals-view/, async (route) => {
    await released;
    await route.continue();
  });
  await page.keyboard.type("gt");
  await asked;
  await page.keyboard.press("n");
  // This one is general, and waits for nothing.
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Commands" }).waitFor();
  await page.keyboard.press("Escape");
  release();
  await expectOnScreen(screenOf(page), /[$#]$/m);
  expect(await page.getByRole("dialog").count()).toBe(0);
  opened.expectClean();
});

/** What has the keyboard: its role or element, and what it is called. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const element = document.activeElement!;
    const name = element.getAttribute("aria-label") ?? element.textContent?.trim().slice(0, 40) ?? "";
    return `${element.getAttribute("role") ?? element.localName} ${name}`;
  });
}

/** Whether what has the keyboard can be told from everything else. */
function isMarked(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement!);
    return (outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
  });
}

/** Whether nothing behind a dialog has the keyboard. The browser's own buttons are between its last and first stop. */
const isInDialog = (page: Page): Promise<boolean> =>
  page.evaluate(() => {
    const { activeElement, body } = document;
    return activeElement === body || activeElement?.closest("dialog") !== null;
  });

/** Goes to the list and to the process there whose command has a word. */
async function selectInList(page: Page, word: string): Promise<void> {
  await page.keyboard.type("gp");
  await page.getByRole("grid", { name: "Processes" }).waitFor();
  await page.locator(".proc-row", { hasText: word }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(word);
  await page.keyboard.press("Enter");
  await page.keyboard.press("j");
  await page.locator(".proc-row.current", { hasText: word }).waitFor();
}

it("everything on the main paths works without a mouse", async () => {
  await using opened = await ConsolePage.open(browser, await server.newLink());
  await opened.ready();
  const { page } = opened;
  const address = (): string => new URL(page.url()).pathname;
  await page.getByRole("grid", { name: "Processes" }).waitFor();

  // Every stop of the first way through the page can be seen.
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  const stops: string[] = [];
  for (let stop = 0; stop < 12; stop++) {
    await page.keyboard.press("Tab");
    stops.push(await focused(page));
    expect(await isMarked(page), stops.at(-1)).toBe(true);
  }
  expect(stops).toContain("button Start");

  // Views by their keys.
  for (const [key, path, heading] of [
    ["f", /^\/f/, undefined],
    ["r", /^\/r$/, "Rows"],
    ["s", /^\/s$/, "System"],
    ["p", /^\/p$/, "Processes"],
  ] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await expect.poll(address).toMatch(path);
    if (heading !== undefined) await page.getByRole("heading", { name: heading }).waitFor();
    else await page.locator(".view").waitFor();
  }

  // Dialogs keep the keyboard, and give it back to where it was.
  await page.getByRole("button", { name: "Start", exact: true }).focus();
  for (const [key, name] of [
    ["Control+k", "Commands"],
    ["?", "Keyboard"],
    ["n", "Start a process"],
  ] as const) {
    await page.keyboard.press(key);
    const dialog = page.getByRole("dialog", { name });
    await dialog.waitFor();
    for (let stop = 0; stop < 4; stop++) {
      expect(await isInDialog(page), `${name}, ${await focused(page)}`).toBe(true);
      await page.keyboard.press("Shift+Tab");
    }
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    expect(await focused(page), name).toBe("button Start");
  }

  // A process is started, looked at, searched and ended.
  await page.keyboard.press("Control+k");
  await page.keyboard.type("start a process");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Start a process" }).waitFor();
  await page.keyboard.type("sh -c 'echo first; echo a needle; exec sleep 600'");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await expectShown(page, "a needle");
  const started = address();
  await page.keyboard.press("/");
  await page.keyboard.type("needle");
  await expect.poll(() => page.locator(".out-found").innerText()).toBe("1 of 1");
  await page.keyboard.press("Escape");
  expect(await focused(page)).toBe("log Output");
  await selectInList(page, "needle");
  await page.keyboard.press("Enter");
  await expect.poll(address).toBe(started);
  await selectInList(page, "needle");
  await page.keyboard.press("Delete");
  await page.getByRole("dialog", { name: /^End / }).waitFor();
  expect(await isInDialog(page)).toBe(true);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  expect(await focused(page)).toBe("button End");
  await page.keyboard.press("Enter");
  await page.locator(".proc-row", { hasText: "needle" }).getByText("SIGTERM").waitFor();

  // A terminal has all keys but those that leave it.
  await page.keyboard.type("gt");
  await page.getByText("No terminal is open").waitFor();
  await page.keyboard.press("n");
  const screen = screenOf(page);
  await expectOnScreen(screen, /[$#]$/m);
  await typeLine(page, "echo g''p n /");
  await expectOnScreen(screen, "gp n /");
  await page.keyboard.press("F1");
  await page.getByRole("dialog", { name: "Commands" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  await typeLine(page, "echo st''ill here");
  await expectOnScreen(screen, "still here");
  await page.keyboard.press("F1");
  await page.keyboard.type("go to files");
  await page.keyboard.press("Enter");
  await expect.poll(address).toMatch(/^\/f/);
  opened.expectClean();
});
