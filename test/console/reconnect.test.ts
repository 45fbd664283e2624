import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { Relay } from "../client/relay.ts";
import { cutEvery } from "../fixtures/cut-every.ts";
import { useConsole } from "./console-scene.ts";
import { expectOnScreen, openTerminal, screenOf, textOf, typeLine } from "./terminal-screen.ts";

/** Fewer than the terminal keeps above the screen. */
const LINES = 3000;
const FILLING = "x".repeat(60);
const CUTS = 4;
const CUT_BYTES = 40_000;

const scene = useConsole();

/** Everything that a terminal has from a line on, read screen by screen as a person scrolls up to it. */
async function linesFrom(line: string, page: Page, screen: Locator): Promise<string[]> {
  const lines: string[] = [];
  for (;;) {
    const text = await textOf(screen);
    const shown = text.split("\n");
    const known = lines[0] === undefined ? shown.length : shown.indexOf(lines[0]);
    lines.unshift(...shown.slice(0, known === -1 ? shown.length : known));
    const start = lines.indexOf(line);
    if (start !== -1) return lines.slice(start);
    await page.keyboard.press("Shift+PageUp");
    await expect.poll(() => textOf(screen)).not.toBe(text);
  }
}

it("a terminal whose connection is cut while it writes has every line, in order", async () => {
  await using relay = await Relay.open(scene.server.port);
  await using opened = await scene.openBehind(relay);
  const { page } = opened;
  const screen = await openTerminal(page);
  const rows = screen.locator(".xterm-rows > div");
  const height = await rows.count();
  const cuts = cutEvery(relay, CUT_BYTES, CUTS, (number) => {
    // Long enough for a person to see it.
    relay.refuses = number === 1;
  });
  const write = `printf 'line-%s-${FILLING}\\n' $i; [ $((i%100)) = 0 ] && sleep 0.05`;
  await typeLine(page, `clear; i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); ${write}; done; echo d''one`);
  await page.getByText("The connection was lost").waitFor();
  relay.refuses = false;
  await expectOnScreen(screen, /^done$/m);
  expect(cuts()).toBe(CUTS);
  // The screen has its size again, which the banner had changed: it must not move while it is read.
  await opened.ready();
  await page.getByText("The connection was lost").waitFor({ state: "hidden" });
  await expect.poll(() => rows.count()).toBe(height);
  const numbers = (await linesFrom(`line-1-${FILLING}`, page, screen)).flatMap(
    (line) => /^line-(\d+)-x+$/.exec(line)?.[1] ?? [],
  );
  expect(numbers).toEqual(Array.from({ length: LINES }, (_, index) => `${index + 1}`));
  opened.expectClean();
});

it("after a restart of the server the page says so, connects by itself and works again", async () => {
  await using opened = await scene.open({ losesConnections: true });
  const { page } = opened;
  const before = await openTerminal(page);
  await typeLine(page, "echo be''fore");
  await expectOnScreen(before, "before");
  await scene.server.stop("SIGKILL");
  await page.getByText(/The connection was lost|The server cannot be reached/).waitFor();
  await scene.server.start();
  await page.getByText("The server cannot be reached").waitFor({ state: "hidden" });
  await opened.ready();
  // Everything that ran has ended with the server.
  await page.getByRole("button", { name: "Start again" }).click();
  const after = screenOf(page);
  // The old prompt does not count.
  await expect.poll(() => textOf(after)).not.toContain("before");
  await expectOnScreen(after, /[$#]$/m);
  await after.click();
  await typeLine(page, "echo af''ter");
  await expectOnScreen(after, "after");
  opened.expectClean();
});
