import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import type { ConsolePage } from "./console-page.ts";
import { useConsole } from "./console-scene.ts";
import { frames } from "./output-screen.ts";
import { pressTogether } from "./press-together.ts";
import { expectOnScreen, openDock, openTerminal, typeLine } from "./terminal-screen.ts";

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 800 };
/** Text that is larger or bold may have less. */
const READABLE = 4.5;
const REVERSED = String.raw`\033[7mplain\033[0m \033[7;31mred\033[0m \033[1;7mbold\033[0m \033[7;38;5;226mcube\033[0m`;

const scene = useConsole();
let host: Host;
let opened: ConsolePage;
let page: Page;

beforeAll(async () => {
  host = await scene.server.connect();
  opened = await scene.open({ colorScheme: "light", viewport: DESKTOP });
  ({ page } = opened);
});

afterAll(async () => {
  await host?.close();
});

it("opening the page starts nothing; the terminal below the list starts when it is opened, with the keyboard", async () => {
  await page.getByText("Nothing is running yet").waitFor();
  expect(await host.processes({ scope: "kept" })).toEqual([]);
  const screen = await openDock(page);
  await typeLine(page, "echo be''low");
  await expectOnScreen(screen, "below");
  // It was open, so it is open again.
  await page.reload();
  await opened.ready();
  await expectOnScreen(screen, "below");
  await page.keyboard.press("Control+Shift+Y");
  await screen.waitFor({ state: "hidden" });
});

it("lines between rows go from edge to edge", async () => {
  await host.start(["sh", "-c", "echo x; exec sleep 600"], { keep: { name: "ticking" } });
  const row = page.locator(".proc-row", { hasText: "ticking" });
  const widths = await row.evaluate((element) => [
    element.getBoundingClientRect().right,
    element.closest(".row-grid")!.getBoundingClientRect().right,
  ]);
  expect(widths[0]).toBe(widths[1]);
});

it("of two commands with the same key, only the one that it runs has it; other keys of a command stand beside it", async () => {
  await pressTogether(page, "gt");
  await page.getByText("No terminal is open").waitFor();
  await page.getByRole("link", { name: "Terminals" }).focus();
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard" });
  await sheet.waitFor();
  const keys = (await sheet.locator("dd").allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.filter((text) => text === "N")).toEqual(["N"]);
  const [last, note] = await Promise.all([
    sheet.locator("section").last().boundingBox(),
    sheet.locator(".key-sheet-note").boundingBox(),
  ]);
  expect(note!.y - (last!.y + last!.height)).toBeGreaterThanOrEqual(12);
  await page.keyboard.press("Escape");
});

/** Contrast of what is written to what is behind it, for each part of a row. */
async function contrasts(row: Locator): Promise<Record<string, number>> {
  const parts = await row.locator("span").evaluateAll((spans) =>
    spans.map((span) => {
      const { color, backgroundColor } = getComputedStyle(span);
      return { text: span.textContent.trim(), color, backgroundColor };
    }),
  );
  const luminance = (colour: string): number => {
    const [red, green, blue] = colour.match(/[\d.]+/g)!.map((value) => {
      const share = Number(value) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  };
  return Object.fromEntries(
    parts
      .filter(({ backgroundColor }) => backgroundColor.startsWith("rgb("))
      .map(({ text, color, backgroundColor }) => {
        const [dark, light] = [luminance(color), luminance(backgroundColor)].sort(
          (one, other) => one - other,
        );
        return [text, (light! + 0.05) / (dark! + 0.05)];
      }),
  );
}

it("reverse video is readable in both themes, and the hit where a search stands is not like the others", async () => {
  const screen = await openTerminal(page);
  await typeLine(page, String.raw`clear; printf '${REVERSED}\nneedle one\nneedle two\nneedle three\n'`);
  await expectOnScreen(screen, /^needle three$/m);
  const row = screen.locator(".xterm-rows > div", { hasText: "plain" }).first();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await frames(page);
    const least = async (): Promise<number> => Math.min(...Object.values(await contrasts(row)));
    await expect.poll(least).toBeGreaterThanOrEqual(READABLE);
    // Not a shade in between: as far from each other as the colours of the page. Rows are drawn after the theme changes.
    await expect
      .poll(async () => (await contrasts(row))["plain"], { message: colorScheme })
      .toBeGreaterThan(9);
  }
  await page.keyboard.press("Control+Shift+F");
  await page.keyboard.type("needle");
  /** Which of the lines looks like no other. */
  const current = (): Promise<number> =>
    screen.locator(".xterm-rows > div").evaluateAll((rows) => {
      const colours = rows
        .filter((each) => /^needle (?:one|two|three)/.test(each.textContent))
        .map((each) => (each.firstElementChild as HTMLElement).style.backgroundColor);
      return colours.findIndex((colour) => colours.filter((other) => other === colour).length === 1);
    });
  // Each letter is searched for as it is typed, and the first ones are in more places.
  const said = page.getByText(/^[123] of 3$/);
  await said.waitFor();
  // It is painted some time after it is said.
  const isPainted = async (): Promise<boolean> =>
    (await current()) === Number.parseInt(await said.innerText(), 10) - 1;
  await expect.poll(isPainted).toBe(true);
  const before = await current();
  await page.keyboard.press("Enter");
  await expect.poll(current).toBe((before + 2) % 3);
  await page.keyboard.press("Escape");
  await page.emulateMedia({ colorScheme: "light" });
});

it("the dialog of a start shows all of what runs, and its buttons stay in sight on a phone", async () => {
  await page.goto(`${scene.server.origin}/p`);
  await opened.ready();
  await page.getByRole("button", { name: "Start", exact: true }).click();
  // It is loaded first, and keys that come before it are the page's.
  await page.getByRole("dialog", { name: "Start a process" }).waitFor();
  await page.keyboard.type(`for i in $(seq 1 10); do ${"echo $i | sort | uniq -c; ".repeat(12)} done`);
  for (const size of [DESKTOP, PHONE]) {
    await page.setViewportSize(size);
    const words = page.getByRole("group", { name: "What is run" });
    expect(await words.evaluate((box) => box.scrollHeight - box.clientHeight)).toBe(0);
    const button = await page.getByRole("dialog").getByRole("button", { name: "Start" }).boundingBox();
    expect(button!.y + button!.height).toBeLessThan(size.height);
  }
  await page.keyboard.press("Escape");
});

it("tables of the system fit a phone, with the titles of their columns", async () => {
  for (const [part, title] of [
    ["", "Owner"],
    ["/limits", "Value"],
  ] as const) {
    await page.goto(`${scene.server.origin}/s${part}`);
    await opened.ready();
    const cell = page.locator(`td[data-title="${title}"]`).first();
    await cell.waitFor();
    expect(await cell.evaluate((each) => getComputedStyle(each, "::before").content)).toBe(`"${title}"`);
    const body = page.locator(".view-body");
    expect(await body.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
  }
  await page.setViewportSize(DESKTOP);
  opened.expectClean();
});

it("messages have heads above their columns", async () => {
  await page.goto(`${scene.server.origin}/i/messages`);
  await opened.ready();
  await pressTogether(page, "gp");
  await page.locator(".proc-row").first().waitFor();
  await page.goBack();
  const heads = page.locator(".insp-heads > span");
  await expect
    .poll(() => heads.allInnerTexts())
    .toEqual(["Time", "", "Method", "Kind", "Id", "Took", "Size"]);
  const columns = (row: Locator): Promise<number[]> =>
    row.locator("> span").evaluateAll((spans) => spans.map((span) => span.getBoundingClientRect().left));
  // They come a frame after the heads.
  await page.locator(".insp-row").first().waitFor();
  expect(await columns(page.locator(".insp-heads"))).toEqual(
    await columns(page.locator(".insp-row").first()),
  );
  opened.expectClean();
});
