import type { Page } from "playwright-core";

/**
 * Presses the keys of a sequence such as `gp`. The page forgets the first key after a moment, so nothing may come between
 * the two: the browser is sent both before either is answered.
 */
export async function pressTogether(page: Page, keys: string): Promise<void> {
  await Promise.all(Array.from(keys, (key) => page.keyboard.press(key)));
}
