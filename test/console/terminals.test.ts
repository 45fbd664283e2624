import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { beforeAll, expect, it } from "vitest";
import { Relay } from "../client/relay.ts";
import type { ConsolePage } from "./console-page.ts";
import { useConsole } from "./console-scene.ts";
import { expectOnScreen, lookOf, openTerminal, screenOf, textOf, typeLine } from "./terminal-screen.ts";

const CODE = `${Array.from({ length: 30 }, (_, line) => `const word${line} = "text ${line}"; // note`).join("\n")}\n`;

const scene = useConsole();

beforeAll(async () => {
  await writeFile(join(scene.server.home, "code.js"), CODE);
});

/** The pane that has the keyboard. */
function focusedScreen(page: Page): Locator {
  return page.locator(".xterm.focus");
}

function nameOf(page: Page): string {
  return decodeURIComponent(new URL(page.url()).pathname.replace("/t/", ""));
}

it.each([
  {
    program: "vim",
    command: "vim -u NONE -N -c 'set nu nomore' -c 'syntax on' code.js",
    isThere: /30 const word29/,
    keys: ["g", "g", "o", "n", "e", "w", "Escape", "5", "j", "V", "j"],
    isBack: /2 new/,
    hasCursor: true,
  },
  {
    program: "top",
    command: "top -d 3600",
    isThere: /PID USER/,
    keys: ["1", "t", "P"],
    isBack: /PID USER/,
    hasCursor: false,
  },
])(
  "$program is resized, cut and reconnected, and looks as on a fresh page",
  async ({ command, isThere, keys, isBack, hasCursor }) => {
    await using relay = await Relay.open(scene.server.port);
    await using opened = await scene.openBehind(relay);
    const { page } = opened;
    const screen = await openTerminal(page);
    await typeLine(page, command);
    await expectOnScreen(screen, isThere);
    const rows = await screen.locator(".xterm-rows > div").count();
    await page.setViewportSize({ width: 1100, height: 700 });
    await expect.poll(() => screen.locator(".xterm-rows > div").count()).toBeLessThan(rows);
    relay.refuses = true;
    relay.cut();
    await page.getByText("The connection was lost").waitFor();
    for (const key of keys) await page.keyboard.press(key);
    relay.refuses = false;
    await opened.ready();
    await expectOnScreen(screen, isBack);
    await using fresh = await scene.open({
      viewport: { width: 1100, height: 700 },
    });
    await fresh.page.goto(`${scene.server.origin}/t/${nameOf(page)}`);
    await expectOnScreen(screenOf(fresh.page), isBack);
    // Both have the same window size, so neither is repainted. Each is painted in pieces.
    const differences = async (): Promise<string[]> => {
      const [one, other] = [await lookOf(screen), await lookOf(screenOf(fresh.page))];
      const rows = Math.max(one.length, other.length);
      return Array.from({ length: rows }, (_, row) =>
        one[row] === other[row] ? [] : [`${row}: ${one[row]} | ${other[row]}`],
      ).flat();
    };
    await expect.poll(differences).toEqual([]);
    await expect
      .poll(async () => (await lookOf(screen)).some((row) => row.includes("xterm-cursor")))
      .toBe(hasCursor);
    fresh.expectClean();
    opened.expectClean();
  },
);

it("a line of umlauts, wide and combining characters can be edited", async () => {
  await using opened = await scene.open();
  const { page } = opened;
  const screen = await openTerminal(page);
  await typeLine(page, "exec bash --norc");
  await typeLine(page, "PS1='there> '; clear");
  await expectOnScreen(screen, /^there>\n*$/);
  await page.keyboard.type("echo '[ünï😀漢字e\u0301x]'");
  await expectOnScreen(screen, "漢字e\u0301x]'");
  // Takes out the x, the letter with its accent, the second wide one, and the first umlaut.
  const back = ["ArrowLeft", "ArrowLeft", "Backspace", "Backspace", "Backspace"];
  const front = ["Home", ...Array.from({ length: 7 }, () => "ArrowRight"), "Delete"];
  for (const key of [...back, ...front, "Enter"]) await page.keyboard.press(key);
  await expectOnScreen(screen, /^there> echo '\[nï😀漢\]'\n\[nï😀漢\]\nthere>\n*$/);
  opened.expectClean();
});

it("tabs and splits by keys and by mouse, each with its address; a question before what runs is closed", async () => {
  await using opened = await scene.open();
  const { page } = opened;
  await openTerminal(page);
  const first = nameOf(page);
  await page.keyboard.press("Alt+Shift+N");
  await expect.poll(() => page.getByRole("tab").count()).toBe(2);
  await expect.poll(() => nameOf(page)).not.toBe(first);
  const second = nameOf(page);
  await page.keyboard.press("Alt+Shift+R");
  await page.getByRole("separator", { name: "Border between two terminals" }).waitFor();
  await expect.poll(() => nameOf(page)).not.toBe(second);
  const third = nameOf(page);
  await expectOnScreen(focusedScreen(page), /[$#]$/m);
  await page.keyboard.press("Alt+Shift+ArrowLeft");
  await expect.poll(() => nameOf(page)).toBe(second);
  await typeLine(page, "echo in-the''-left");
  await expectOnScreen(focusedScreen(page), "in-the-left");
  // By mouse.
  const border = page.getByRole("separator", { name: "Border between two terminals" });
  const box = (await border.boundingBox())!;
  await page.mouse.move(box.x, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x - 200, box.y + 100, { steps: 4 });
  await page.mouse.up();
  await expect.poll(async () => (await border.boundingBox())!.x).toBeLessThan(box.x - 150);
  await page.getByRole("tab", { name: first }).click();
  await expect.poll(() => nameOf(page)).toBe(first);
  await page.keyboard.press("Alt+Shift+PageDown");
  await expect.poll(() => nameOf(page)).toBe(second);
  // A bookmark, and the buttons of the browser.
  await page.getByRole("link", { name: "Files" }).click();
  await page.waitForURL(/\/f/);
  await page.goBack();
  await expect.poll(() => nameOf(page)).toBe(second);
  await expectOnScreen(focusedScreen(page), "in-the-left");
  await page.goForward();
  await page.waitForURL(/\/f/);
  await page.goto(`${scene.server.origin}/t/${third}`);
  await opened.ready();
  await expectOnScreen(focusedScreen(page), /[$#]$/m);
  expect(nameOf(page)).toBe(third);
  // Closing.
  const question = page.getByRole("dialog", { name: `Close ${third}?` });
  await page.keyboard.press("Alt+Shift+X");
  await question.getByRole("button", { name: "Cancel" }).click();
  await focusedScreen(page).waitFor();
  await page.keyboard.press("Alt+Shift+X");
  await question.getByRole("button", { name: "Leave running" }).click();
  await expect.poll(() => page.locator(".term-cell:visible").count()).toBe(1);
  expect(await page.getByRole("tab").count()).toBe(2);
  await using host = await scene.server.connect();
  const running = async (): Promise<(string | undefined)[]> =>
    (await host.processes({ scope: "kept" }))
      .filter(({ state }) => state === "running")
      .map(({ name }) => name);
  expect(await running()).toEqual(expect.arrayContaining([first, second, third]));
  await page.getByRole("tab", { name: second }).click();
  // Its pane has become another one, which asks only when it is open.
  await expectOnScreen(focusedScreen(page), "in-the-left");
  await page.keyboard.press("Alt+Shift+X");
  await page.getByRole("button", { name: "End it" }).click();
  await expect.poll(running).not.toContain(second);
  expect(await running()).toContain(first);
  opened.expectClean();
});

it("search, copy, and a question before several lines are pasted", async () => {
  await using opened = await scene.open({
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const { page } = opened;
  const screen = await openTerminal(page);
  await typeLine(page, "clear; seq 1 300; echo se''arch");
  await expectOnScreen(screen, "search");
  await page.keyboard.press("Control+Shift+F");
  const field = page.getByRole("searchbox", { name: "Find in this terminal" });
  await field.fill("123");
  await expect.poll(() => page.locator(".term-search-count").innerText()).toBe("1 of 1");
  await expectOnScreen(screen, /^123$/m);
  await field.press("Escape");
  await expect.poll(() => focusedScreen(page).count()).toBe(1);
  // Written by the shell after it has read the line: it takes pastes without a question until then.
  await typeLine(page, "echo ca''t; exec cat");
  await expectOnScreen(screen, /^cat$/m);
  const paste = (text: string): Promise<void> =>
    page.evaluate((pasted) => {
      const data = new DataTransfer();
      data.setData("text/plain", pasted);
      const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
      document.activeElement!.dispatchEvent(event);
    }, text);
  const question = page.getByRole("dialog", { name: "Paste 3 lines?" });
  await paste("re-1\nre-2\nre-3\n");
  await question.getByRole("button", { name: "Cancel" }).click();
  await paste("yes-1\nyes-2\nyes-3\n");
  await question.getByRole("button", { name: "Paste" }).click();
  // Typed, and written by the program.
  await expectOnScreen(screen, /yes-3[^]*yes-3/);
  expect(await textOf(screen)).not.toContain("re-1");
  // A word by two clicks.
  const row = screen.locator(".xterm-rows > div", { hasText: "yes-3" }).last();
  const box = (await row.boundingBox())!;
  await page.mouse.dblclick(box.x + 12, box.y + box.height / 2);
  await page.keyboard.press("Control+Shift+C");
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("yes-3");
  opened.expectClean();
});

it("output that the emulator fails on does not stop the terminal, which shows what the server has", async () => {
  await using opened = await scene.open();
  const { page } = opened;
  const screen = await openTerminal(page);
  // Erases everything up to the last cell of a screen without anything above it.
  await typeLine(page, "clear; printf 'gone\\033[999;999H\\033[1J'; echo; echo goes''-on");
  await expectOnScreen(screen, /^goes-on$/m);
  await typeLine(page, "echo an''d-on");
  await expectOnScreen(screen, /^and-on$/m);
  expect(await textOf(screen)).not.toContain("gone");
  opened.expectClean();
});

it("two people type on one terminal, each sees both, and who only looks types nothing", async () => {
  await using host = await scene.server.connect();
  const kept = await host.terminal(["sh", "-c", "stty -echo; echo ready; exec cat"], {
    keep: { name: "shared" },
  });
  const pages = await Promise.all(
    ["shared", "shared", "shared~follow"].map(async (name) => {
      const opened = await scene.open();
      await opened.page.goto(`${scene.server.origin}/t/${name}`);
      await expectOnScreen(screenOf(opened.page), "ready");
      return opened;
    }),
  );
  const [ann, ben, eve] = pages as [ConsolePage, ConsolePage, ConsolePage];
  for (const [name, { page }] of Object.entries({ ann, ben, eve })) {
    await screenOf(page).click();
    await typeLine(page, `by-${name}`);
    // Keys of two people who type at once would be mixed in one line.
    if (page !== eve.page) await expectOnScreen(screenOf(page), `by-${name}`);
  }
  await eve.page.getByText("You are only watching").waitFor();
  await ann.page.keyboard.type("last");
  await ann.page.keyboard.press("Enter");
  for (const { page } of pages) {
    await expectOnScreen(screenOf(page), "last");
    await expectOnScreen(screenOf(page), "by-ann");
    await expectOnScreen(screenOf(page), "by-ben");
    expect(await textOf(screenOf(page))).not.toContain("by-eve");
  }
  await kept.terminate();
  for (const opened of pages) {
    opened.expectClean();
    await opened[Symbol.asyncDispose]();
  }
});

it("the button for a new terminal does not move while it is pressed, though others are listed meanwhile", async () => {
  await using opened = await scene.open();
  const { page } = opened;
  await page.getByRole("link", { name: "Terminals" }).click();
  await page.getByRole("button", { name: "New terminal" }).hover();
  await page.mouse.down();
  await using host = await scene.server.connect();
  for (const name of ["late-1", "late-2", "late-3"]) await host.terminal(["cat"], { keep: { name } });
  await page
    .getByRole("button", { name: /late-3/ })
    .first()
    .waitFor();
  await page.mouse.up();
  await expectOnScreen(screenOf(page), /[$#]$/m);
  opened.expectClean();
});
