import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launchChromium } from "../fixtures/launch-chromium.ts";
import { ConsolePage } from "./console-page.ts";
import { ConsoleServer } from "./console-server.ts";
import { heapBytes, workDuring } from "./page-work.ts";
import { expectOnScreen, openTerminal, typeLine } from "./terminal-screen.ts";

const MIB = 1024 * 1024;
/** CONSOLE_FLOOD_MB=100 is the long form. */
const FLOOD_MB = Number(process.env["CONSOLE_FLOOD_MB"] ?? 16);
/** Processor time that the page may take without a break. Time that other programs take does not count. */
const MAX_TASK_MS = 100;
const MAX_GROWTH_BYTES = 64 * MIB;

let browser: Browser;
let server: ConsoleServer;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchChromium(), ConsoleServer.start()]);
});

afterAll(() => Promise.all([browser?.close(), server?.[Symbol.asyncDispose]()]));

it(`${FLOOD_MB} MB on a terminal: the page never stands still, stays small, and takes input meanwhile`, async () => {
  await using opened = await ConsolePage.open(browser, await server.newLink());
  await opened.ready();
  const { page } = opened;
  const screen = await openTerminal(page);
  const before = await heapBytes(page);
  const work = await workDuring(browser, page, async () => {
    await typeLine(
      page,
      `seq -f 'line %011.0f of a flood that nobody can read' 99999999999 | head -c ${FLOOD_MB}MB; echo; echo d''one`,
    );
    await expectOnScreen(screen, "of a flood");
    // Another view is shown and left again while it goes on.
    await page.getByRole("button", { name: "Show all keys" }).click();
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await expectOnScreen(screen, /^done$/m);
  });
  const grown = (await heapBytes(page)) - before;
  process.stdout.write(`${JSON.stringify({ ...work, grownMiB: Math.round(grown / MIB) })}\n`);
  expect(work.longestTaskMs).toBeLessThan(MAX_TASK_MS);
  expect(grown).toBeLessThan(MAX_GROWTH_BYTES);
  await screen.click();
  await typeLine(page, "echo still''there");
  await expectOnScreen(screen, "stillthere");
  opened.expectClean();
});
