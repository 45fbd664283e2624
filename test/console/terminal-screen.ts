import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";

/** The terminal of a page that has the keyboard, or the only one. */
export function screenOf(page: Page): Locator {
  return page.locator(".xterm:visible").last();
}

/** What can be seen of it. */
export async function textOf(screen: Locator): Promise<string> {
  const rows = await screen.locator(".xterm-rows > div").allInnerTexts();
  return rows.map((row) => row.replaceAll("\u00a0", " ").trimEnd()).join("\n");
}

export async function expectOnScreen(screen: Locator, text: string | RegExp): Promise<void> {
  const expectation = expect.poll(() => textOf(screen));
  await (typeof text === "string" ? expectation.toContain(text) : expectation.toMatch(text));
}

/** Opens a new terminal, and waits for its prompt. */
export async function openTerminal(page: Page): Promise<Locator> {
  await page.getByRole("link", { name: "Terminals" }).click();
  await page.getByRole("button", { name: "New terminal" }).first().click();
  const screen = screenOf(page);
  await expectOnScreen(screen, /[$#]$/m);
  return screen;
}

/** Opens the terminal below the list of processes, and waits for its prompt. */
export async function openDock(page: Page): Promise<Locator> {
  await page.getByRole("button", { name: "Terminal", expanded: false }).click();
  const screen = screenOf(page);
  await expectOnScreen(screen, /[$#]$/m);
  return screen;
}

/** Types a line, as a person would. */
export async function typeLine(page: Page, line: string): Promise<void> {
  await page.keyboard.type(line);
  await page.keyboard.press("Enter");
}

/** What each row looks like: its text, the colours and styles of its parts, and where the cursor is. */
export async function lookOf(screen: Locator): Promise<string[]> {
  const rows = await screen.evaluate((element) =>
    [...element.querySelectorAll(".xterm-rows > div")].map((row) =>
      [...row.querySelectorAll("span")].map((part) => ({
        text: part.textContent.replaceAll("\u00a0", " "),
        // How the cursor is drawn depends on the focus of the page.
        look: [...part.classList]
          .filter((name) => !name.startsWith("xterm-cursor-"))
          .concat(part.style.color, part.style.backgroundColor)
          .join(" ")
          .trim(),
      })),
    ),
  );
  return rows.map((parts) =>
    parts
      .map(({ text, look }) => (look === "" ? text : `[${look}: ${text}]`))
      .join("")
      .trimEnd(),
  );
}
