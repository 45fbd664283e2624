import type { Page } from "playwright-core";
import { expect } from "vitest";
import { pressTogether } from "./press-together.ts";

export interface ShownLine {
  /** Empty if it continues the previous line, or marks a gap. */
  readonly number: string;
  readonly text: string;
  readonly kind: "stdout" | "stderr" | "gap";
}

/** The lines of output that a person sees. */
export function shownLines(page: Page): Promise<readonly ShownLine[]> {
  return page.evaluate(() => {
    const box = document.querySelector(".out-box")?.getBoundingClientRect();
    if (box === undefined) return [];
    return [...document.querySelectorAll(".out-shown > .out-line")]
      .filter((line) => {
        const { top, bottom, width } = line.getBoundingClientRect();
        return width > 0 && bottom > box.top + 1 && top < box.bottom - 1;
      })
      .map((line) => ({
        number: line.querySelector(".out-gutter")?.textContent ?? "",
        text: line.querySelector(".out-text")?.textContent?.replace(/\n$/, "") ?? "",
        kind: line.classList.contains("out-gap")
          ? ("gap" as const)
          : line.classList.contains("stderr")
            ? ("stderr" as const)
            : ("stdout" as const),
      }));
  });
}

export async function shownText(page: Page): Promise<string> {
  return (await shownLines(page)).map(({ text }) => text).join("\n");
}

export async function expectShown(page: Page, text: string | RegExp): Promise<void> {
  const expectation = expect.poll(() => shownText(page));
  await (typeof text === "string" ? expectation.toContain(text) : expectation.toMatch(text));
}

/** Two frames, so that what a change leads to is drawn. */
export function frames(page: Page): Promise<void> {
  return page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve()))),
  );
}

/** Whether all that is visible has lines, which come after the place was scrolled to. */
function isDrawn(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const box = document.querySelector(".out-box")!.getBoundingClientRect();
    const drawn = document.querySelector(".out-shown")!.getBoundingClientRect();
    const all = document.querySelector(".out-all")!.getBoundingClientRect();
    return (
      drawn.top <= Math.max(box.top, all.top) + 1 && drawn.bottom >= Math.min(box.bottom, all.bottom) - 1
    );
  });
}

/** Everything from the first line on, read as a person scrolls down. Lines must not wrap. */
export async function everyLine(page: Page): Promise<readonly ShownLine[]> {
  await page.locator(".out-box").focus();
  await pressTogether(page, "gg");
  await expect.poll(() => page.locator(".out-box").evaluate((box) => box.scrollTop)).toBe(0);
  const lines = new Map<string, ShownLine>();
  for (;;) {
    await expect.poll(() => isDrawn(page)).toBe(true);
    for (const line of await shownLines(page)) lines.set(line.number, line);
    const isLast = await page.locator(".out-box").evaluate((box) => {
      const before = box.scrollTop;
      box.scrollTop += box.clientHeight - 40;
      return box.scrollTop === before;
    });
    if (isLast) return [...lines.values()];
  }
}
