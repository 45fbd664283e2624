import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createDeferred } from "../../src/base/deferred.ts";
import { useConsole } from "./console-scene.ts";
import { expectShown, frames } from "./output-screen.ts";
import { pressTogether } from "./press-together.ts";
import { expectOnScreen, screenOf, typeLine } from "./terminal-screen.ts";

const scene = useConsole();

it("a key that is pressed while a view is being loaded is one of that view", async () => {
  await using opened = await scene.open();
  const { page } = opened;
  await page.goto(`${scene.server.origin}/f`);
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
  await pressTogether(page, "gt");
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

it("a key that is pressed while the start dialog is being loaded is no command of the page", async () => {
  await using opened = await scene.open();
  const { page } = opened;
  await page.goto(`${scene.server.origin}/p`);
  await opened.ready();
  const released = createDeferred<void>();
  const asked = page.waitForRequest(/start-dialog/);
  await page.route(/start-dialog/, async (route) => {
    await released.promise;
    await route.continue();
  });
  await page.keyboard.press("n");
  await asked;
  // The list of all keys, and another view.
  await page.keyboard.press("?");
  await pressTogether(page, "gf");
  released.resolve();
  await page.getByRole("dialog", { name: "Start a process" }).waitFor();
  expect(await page.getByRole("dialog").count()).toBe(1);
  expect(new URL(page.url()).pathname).toBe("/p");
  opened.expectClean();
});

it("a click right after a menu has opened closes it", async () => {
  await using opened = await scene.open();
  const { page } = opened;
  await using host = await scene.server.connect();
  await host.start(["sleep", "600"], { keep: { name: "menu-at-once" } });
  await page.goto(`${scene.server.origin}/p`);
  const row = page.getByRole("row", { name: /menu-at-once/ });
  await row.waitFor();
  const isOpen = await row.evaluate(async (element) => {
    const menu = () => document.querySelector("[role=menu]") !== null;
    element.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true }));
    // Changes of the page are made when the work of an event is done, not in the next frame.
    await Promise.resolve();
    const before = menu();
    document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
    await Promise.resolve();
    return [before, menu()];
  });
  expect(isOpen).toEqual([true, false]);
  opened.expectClean();
});

/** Keys that arrive before the page could draw anything, as on a machine that is busy. What is in the list is typed. */
function pressAtOnce(page: Page, keys: readonly (string | { readonly typed: string })[]): Promise<void> {
  return page.evaluate(async (all) => {
    for (const one of all) {
      const field = document.activeElement;
      if (typeof one === "string") {
        const ctrlKey = one.startsWith("Control+");
        const event = { key: one.replace("Control+", ""), ctrlKey, bubbles: true, cancelable: true };
        (field ?? document.body).dispatchEvent(new KeyboardEvent("keydown", event));
      } else if (field instanceof HTMLInputElement) {
        field.value = one.typed;
        field.dispatchEvent(new InputEvent("input", { bubbles: true }));
      }
      // Changes of the page are made when the work of a key is done, not in the next frame.
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    }
  }, keys);
}

it("keys that are pressed before anything could be drawn are for what they have opened", async () => {
  await using opened = await scene.open();
  const { page } = opened;
  await page.getByRole("grid", { name: "Processes" }).waitFor();
  await pressAtOnce(page, ["Control+k", { typed: "go to system" }]);
  await page.getByRole("dialog", { name: "Commands" }).waitFor();
  await frames(page);
  expect(await page.locator(".palette-title").allInnerTexts()).toEqual(["System"]);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "System" }).waitFor();
  await page.goto(`${scene.server.origin}/i`);
  await page.getByRole("navigation", { name: "Methods" }).waitFor();
  await pressAtOnce(page, ["/", { typed: "readfile" }]);
  await expect.poll(() => page.locator(".insp-groups a").allInnerTexts()).toEqual(["fs/readFile"]);
  await page.goto(`${scene.server.origin}/i/process/start`);
  await page.getByRole("button", { name: "Add an item" }).first().waitFor();
  const added = await page
    .getByRole("button", { name: "Add an item" })
    .first()
    .evaluate(async (button: HTMLElement) => {
      const list = button.closest(".insp-list")!;
      button.click();
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
      const fields = [...list.querySelectorAll("textarea, input, select")];
      return { fields: fields.length, focused: fields.indexOf(document.activeElement!) };
    });
  expect(added).toEqual({ fields: 1, focused: 0 });
  // A view that was shown before has its keys as soon as it is shown again.
  await page.goto(`${scene.server.origin}/p`);
  await page.getByRole("heading", { name: "Processes" }).waitFor();
  await pressTogether(page, "gs");
  await page.getByRole("heading", { name: "System" }).waitFor();
  await pressAtOnce(page, ["g", "p", "n"]);
  await page.getByRole("dialog", { name: "Start a process" }).waitFor();
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

/** Whether the focused element is visibly marked. */
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
  await pressTogether(page, "gp");
  await page.getByRole("grid", { name: "Processes" }).waitFor();
  await page.locator(".proc-row", { hasText: word }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(word);
  await page.keyboard.press("Enter");
  await page.keyboard.press("j");
  await page.locator(".proc-row.current", { hasText: word }).waitFor();
}

it("everything on the main paths works without a mouse", async () => {
  await using opened = await scene.open();
  const { page } = opened;
  const address = (): string => new URL(page.url()).pathname;
  await page.getByRole("grid", { name: "Processes" }).waitFor();

  // Every stop of the first way through the page can be seen.
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  const stops: string[] = [];
  for (let stop = 0; stop < 13; stop++) {
    await page.keyboard.press("Tab");
    stops.push(await focused(page));
    expect(await isMarked(page), stops.at(-1)).toBe(true);
  }
  expect(stops).toContain("button Start");

  // Views by their keys.
  for (const [key, path, heading] of [
    ["f", /^\/f/, undefined],
    ["r", /^\/r$/, "Rows"],
    ["o", /^\/o$/, "Ports"],
    ["s", /^\/s$/, "System"],
    ["p", /^\/p$/, "Processes"],
  ] as const) {
    await pressTogether(page, `g${key}`);
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
    await expect.poll(() => focused(page), { message: name }).toBe("button Start");
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
  await expect.poll(() => focused(page)).toBe("log Output");
  await selectInList(page, "needle");
  await page.keyboard.press("Enter");
  await expect.poll(address).toBe(started);
  await selectInList(page, "needle");
  await page.keyboard.press("Delete");
  await page.getByRole("dialog", { name: /^End / }).waitFor();
  expect(await isInDialog(page)).toBe(true);
  // It opens on what does no harm.
  expect(await focused(page)).toBe("button Cancel");
  await page.keyboard.press("Tab");
  await expect.poll(() => focused(page)).toBe("button End");
  await page.keyboard.press("Enter");
  await page.locator(".proc-row", { hasText: "needle" }).getByText("SIGTERM").waitFor();

  // A terminal has all keys but those that leave it.
  await pressTogether(page, "gt");
  await page.getByText("No terminal is open").waitFor();
  // Nor do letters trigger the page's commands where the user expects a terminal.
  await page.keyboard.type("n?/gp");
  expect([address(), await page.getByRole("dialog").count()]).toEqual(["/t", 0]);
  expect(await focused(page)).toBe("button New terminal");
  await page.keyboard.press("Enter");
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
  await page.getByRole("dialog", { name: "Commands" }).waitFor();
  await page.keyboard.type("go to files");
  await page.keyboard.press("Enter");
  await expect.poll(address).toMatch(/^\/f/);
  opened.expectClean();
});
