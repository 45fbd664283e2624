import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { Relay } from "../client/relay.ts";
import { useConsole } from "./console-scene.ts";
import { frames } from "./output-screen.ts";
import { expectOnScreen, openDock, openTerminal, screenOf, textOf, typeLine } from "./terminal-screen.ts";

/** Sessions that wait for their page are forgotten after 80 s. */
const SOON_MS = 30_000;
const FORGOTTEN_MS = 120_000;
const PHONE = { width: 390, height: 844 };

const scene = useConsole();

/** Whether the last row with a text can be seen, and is not beyond an edge of its pane. */
function isInSight(screen: Locator, text: string): Promise<boolean> {
  return screen.evaluate((element, wanted) => {
    const row = [...element.querySelectorAll(".xterm-rows > div")].findLast((one) =>
      one.textContent.replaceAll("\u00a0", " ").includes(wanted),
    );
    if (row === undefined) return false;
    const room = element.closest(".term-room")!.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(row);
    const box = range.getBoundingClientRect();
    return box.top >= room.top && box.bottom <= room.bottom + 1 && box.left >= room.left;
  }, text);
}

it.each([
  ["a little smaller shows all of the screen, in smaller text", "large", { width: 1300, height: 760 }, true],
  ["much smaller shows the part of the screen with the cursor", "larger", PHONE, false],
])("a page that looks on with a window that is %s", async (_, name, viewport, showsAll) => {
  await using host = await scene.server.connect();
  const kept = await host.terminal(["sh", "-c", "seq 1 60; printf 'top-%s\\n' right; exec cat"], {
    keep: { name },
    cols: 150,
    rows: 40,
  });
  await using opened = await scene.open({ viewport });
  const { page } = opened;
  await page.goto(`${scene.server.origin}/t/${name}~follow`);
  const screen = screenOf(page);
  await expectOnScreen(screen, "top-right");
  await expect.poll(() => isInSight(screen, "top-right")).toBe(true);
  await expect.poll(() => isInSight(screen, "23")).toBe(showsAll);
  for (let line = 0; line < 30; line++) await kept.write(`line ${line}\n`);
  await expectOnScreen(screen, "line 29");
  await expect.poll(() => isInSight(screen, "line 29")).toBe(true);
  await kept.terminate();
  opened.expectClean();
});

it("views that are left while something is dragged or measured leave nothing behind", async () => {
  await using opened = await scene.open({ viewport: PHONE });
  const { page } = opened;
  await openDock(page);
  const go = (path: string): Promise<void> =>
    page.evaluate((to) => {
      history.pushState(null, "", to);
      dispatchEvent(new PopStateEvent("popstate", { state: null }));
    }, path);
  for (const path of ["/p/console", "/t/console", "/f", "/p", "/t/console", "/p/console", "/"]) {
    const border = page.locator("[role=separator]").first();
    if (await border.isVisible()) {
      const box = (await border.boundingBox())!;
      await page.mouse.move(box.x + 40, box.y);
      await page.mouse.down();
      await page.mouse.move(box.x + 40, box.y - 30);
    }
    await go(path);
    await page.mouse.move(200, 300, { steps: 3 });
    await page.mouse.up();
  }
  await page.locator(".term-dock .xterm").waitFor();
  opened.expectClean();
});

/** How many sessions of pages the server has, with those that wait for their page. */
async function sessionsOfPages(): Promise<number> {
  await using host = await scene.server.connect();
  const { sessions } = await host.request("server/sessions", null);
  return sessions.filter(({ clientName }) => clientName === "exec-server console").length;
}

it("a page that is loaded again or left leaves no session behind", async () => {
  // Those of the pages before are about to end, or wait for their page.
  await expect.poll(sessionsOfPages, { timeout: FORGOTTEN_MS }).toBe(0);
  {
    await using opened = await scene.open();
    for (let loads = 0; loads < 3; loads++) {
      await opened.page.reload();
      await opened.ready();
    }
    await expect.poll(sessionsOfPages, { timeout: SOON_MS }).toBe(1);
    opened.expectClean();
  }
  await expect.poll(sessionsOfPages, { timeout: SOON_MS }).toBe(0);
});

it("a page that the browser has kept for a step back connects again", async () => {
  await using opened = await scene.open({ losesConnections: true });
  const { page } = opened;
  const screen = await openTerminal(page);
  // What a browser does around a page that it keeps. Seen from outside, the page might be connected again already.
  await page.evaluate(async () => {
    const state = document.querySelector(".rail-state")!;
    const left = new Promise<void>((resolve) => {
      const observer = new MutationObserver(() => {
        if (state.classList.contains("connected")) return;
        observer.disconnect();
        resolve();
      });
      observer.observe(state, { attributeFilter: ["class"] });
    });
    dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
    await left;
    dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
  });
  await opened.ready();
  await expectOnScreen(screenOf(page), /[$#]$/m);
  await screen.click();
  await typeLine(page, "echo ba''ck");
  await expectOnScreen(screenOf(page), "back");
  opened.expectClean();
});

it("after a restart of the server the old screen can still be read, and stays above what is started in its place", async () => {
  await using opened = await scene.open({ losesConnections: true });
  const { page } = opened;
  const screen = await openTerminal(page);
  await typeLine(page, "printf '\\033[31mold-%s\\033[m\\n' words");
  await expectOnScreen(screen, "old-words");
  await scene.server.stop();
  await page.getByText(/The connection was lost|The server cannot be reached/).waitFor();
  await scene.server.start();
  const again = page.getByRole("button", { name: "Start again" });
  await again.and(page.locator(":enabled")).waitFor();
  await expectOnScreen(screenOf(page), "old-words");
  await again.click();
  await again.waitFor({ state: "hidden" });
  const upwards = async (): Promise<string> => {
    await page.keyboard.press("Shift+PageUp");
    // The next step would go past what is not drawn yet.
    await frames(page);
    return textOf(screenOf(page));
  };
  await expect.poll(upwards).toContain("this one replaced it");
  await expect.poll(upwards).toContain("old-words");
  opened.expectClean();
});

it("what cannot be done without a connection says so", async () => {
  await using relay = await Relay.open(scene.server.port);
  await using opened = await scene.openBehind(relay);
  const { page } = opened;
  await openTerminal(page);
  relay.refuses = true;
  relay.cut();
  await page.getByText("The connection was lost").waitFor();
  await page.getByRole("button", { name: "New terminal" }).first().click();
  await page.getByText("Not connected to the server").waitFor();
  relay.refuses = false;
  await opened.ready();
  opened.expectClean();
});
