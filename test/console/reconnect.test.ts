import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Relay } from "../client/relay.ts";
import { launchChromium } from "../fixtures/launch-chromium.ts";
import { ConsolePage } from "./console-page.ts";
import { ConsoleServer } from "./console-server.ts";
import { expectOnScreen, openTerminal, screenOf, textOf, typeLine } from "./terminal-screen.ts";

/** Fewer than the terminal keeps above the screen. */
const LINES = 3000;
const FILLING = "x".repeat(60);
const CUTS = 4;
const CUT_BYTES = 40_000;

let browser: Browser;
let server: ConsoleServer;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchChromium(), ConsoleServer.start()]);
});

afterAll(() => Promise.all([browser?.close(), server?.[Symbol.asyncDispose]()]));

/** Everything that a terminal has, from its oldest line on, read screen by screen as a person scrolls. */
async function everyLine(
  opened: ConsolePage,
  screen: ReturnType<ConsolePage["page"]["locator"]>,
): Promise<string[]> {
  const { page } = opened;
  const lines: string[] = [];
  for (;;) {
    const shown = (await textOf(screen)).split("\n");
    const first = lines[0];
    const known = first === undefined ? shown.length : shown.indexOf(first);
    if (known === 0) return lines;
    lines.unshift(...shown.slice(0, known === -1 ? shown.length : known));
    await page.keyboard.press("Shift+PageUp");
    await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
    );
    if ((await textOf(screen)) === shown.join("\n")) return lines;
  }
}

it("a terminal whose connection is cut while it writes has every line, in order", async () => {
  await using relay = await Relay.open(server.port);
  const origin = relay.url.replace("ws:", "http:");
  const [, fragment] = (await server.newLink()).split("#");
  await using opened = await ConsolePage.open(browser, `${origin}/#${fragment}`, { losesConnections: true });
  await opened.ready();
  const { page } = opened;
  const screen = await openTerminal(page);
  let cuts = 0;
  let next = relay.bytes + CUT_BYTES;
  relay.onBytes = (bytes) => {
    if (bytes < next || cuts === CUTS) return;
    cuts += 1;
    next = bytes + CUT_BYTES;
    // Long enough for a person to see it.
    relay.refuses = cuts === 1;
    relay.cut();
  };
  const write = `printf 'line-%s-${FILLING}\\n' $i; [ $((i%100)) = 0 ] && sleep 0.05`;
  await typeLine(page, `clear; i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); ${write}; done; echo d''one`);
  await page.getByText("The connection was lost").waitFor();
  relay.refuses = false;
  await expectOnScreen(screen, /^done$/m);
  expect(cuts).toBe(CUTS);
  const numbers = (await everyLine(opened, screen)).flatMap(
    (line) => /^line-(\d+)-x+$/.exec(line)?.[1] ?? [],
  );
  expect(numbers).toEqual(Array.from({ length: LINES }, (_, index) => `${index + 1}`));
  opened.expectClean();
});

it("after a restart of the server the page says so, connects by itself and works again", async () => {
  await using opened = await ConsolePage.open(browser, await server.newLink(), { losesConnections: true });
  await opened.ready();
  const { page } = opened;
  const before = await openTerminal(page);
  await typeLine(page, "echo be''fore");
  await expectOnScreen(before, "before");
  await server.stop("SIGKILL");
  await page.getByText(/The connection was lost|The server is gone/).waitFor();
  await server.start();
  await page.getByText("The server is gone").waitFor({ state: "hidden" });
  await opened.ready();
  // Everything that ran has ended with the server.
  await page.getByRole("button", { name: "Start again" }).click();
  const after = screenOf(page);
  await expectOnScreen(after, /[$#]$/m);
  await after.click();
  await typeLine(page, "echo af''ter");
  await expectOnScreen(after, "after");
  opened.expectClean();
});
