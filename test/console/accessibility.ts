import { createRequire } from "node:module";
import { join } from "node:path";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { settled } from "./settled.ts";

const source = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const LOOKS = [
  { colorScheme: "light", width: 1440, height: 900 },
  { colorScheme: "dark", width: 1440, height: 900 },
  { colorScheme: "dark", width: 390, height: 844 },
] as const;
/** SCREENSHOTS=DIRECTORY writes pictures of every state there. */
const pictures = process.env["SCREENSHOTS"];

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** What axe finds serious or critical in what the page shows when it has come to rest. */
export async function seriousFindings(page: Page): Promise<string[]> {
  await settled(page);
  // Not as a script element, which the policy of the page forbids.
  await page.evaluate(`${await source}; undefined`);
  const violations = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as readonly Finding[];
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary = "" }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
}

/** What the page shows can be used in both themes and on a phone. */
export async function expectUsable(page: Page, what: string): Promise<void> {
  for (const { colorScheme, ...size } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(size);
    const where = `${what} ${colorScheme} ${size.width}`;
    expect(await seriousFindings(page), where).toEqual([]);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(width, where).toBeLessThanOrEqual(size.width);
    if (pictures !== undefined) await page.screenshot({ path: join(pictures, `${where}.png`) });
  }
  await page.setViewportSize(LOOKS[0]);
  await page.emulateMedia({ colorScheme: "light" });
}
