import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { useConsole } from "./console-scene.ts";
import {
  BELL,
  ESC,
  HIDDEN,
  LINKS,
  linkSequences,
  MARKUP,
  SEQUENCES,
  surroundings,
  TURNED,
} from "./hostile-payload.ts";
import { expectOnScreen, screenOf } from "./terminal-screen.ts";

/** As many as are written. */
const LINES = MARKUP.length + SEQUENCES.length + 2 * LINKS.length + 2;
const INSIDE = ".xterm, .term-notice, .term-people";

const scene = useConsole();

/** Clicks on the beginning of a line of a terminal. */
async function clickOn(page: Page, text: string): Promise<void> {
  const rows = await screenOf(page).locator(".xterm-rows > div").all();
  const shown = await Promise.all(rows.map((row) => row.innerText()));
  const box = await rows[shown.findLastIndex((line) => line.startsWith(text))]?.boundingBox();
  if (!box) throw new Error(`${text} is not shown`);
  for (const right of [12, 16]) await page.mouse.move(box.x + right, box.y + box.height / 2);
  await page.mouse.click(box.x + 16, box.y + box.height / 2);
}

it("nothing that a program writes changes anything outside its terminal", async () => {
  const payload = join(scene.server.workDirectory, "payload");
  const plain = LINKS.map((target) => `${target} is what it says`);
  await writeFile(
    payload,
    [...MARKUP, ...SEQUENCES, ...linkSequences(), ...plain, `${TURNED}gnp.exe`, "end-of-it"].join("\r\n"),
  );
  await using host = await scene.server.connect();
  const script = `read line; cat ${payload}; exec sleep 600`;
  const started = await host.terminal(["sh", "-c", script], { keep: { name: "hostile" } });
  await using opened = await scene.open({
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const { page } = opened;
  await page.goto(`${scene.server.origin}/t/hostile`);
  const screen = screenOf(page);
  // All of it is to fit, so it waits until the terminal has the size of the page instead of 24 rows.
  await expect.poll(() => screen.locator(".xterm-rows > div").count()).toBeGreaterThan(LINES);
  await page.locator(".term-pane[data-state=open]").waitFor();
  // With the list of terminals, the page stores their commands.
  await expect
    .poll(() => page.evaluate(() => Object.keys(sessionStorage)))
    .toContain("exec-server-terminal-commands");
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  const before = await surroundings(page, INSIDE);
  expect(before).toMatchObject({ clipboard: "mine", harmed: false });
  await started.write("go\n");
  await expectOnScreen(screen, "end-of-it");
  // Text is text.
  for (const text of MARKUP) await expectOnScreen(screen, text);
  for (const text of [...LINKS.keys()].map((index) => `link-${index}`).concat(LINKS))
    await clickOn(page, text);
  await page.mouse.move(0, 0);
  await expect.poll(() => surroundings(page, INSIDE)).toEqual(before);
  await started.terminate();
  opened.expectClean();
});

it("names of files and processes are text, and what turns or hides text in them is made visible", async () => {
  const directory = join(scene.server.workDirectory, "names");
  await mkdir(directory);
  const names = [
    `<img src=x onerror=window.harmed='yes'>`,
    `<script>window.harmed='yes'<`,
    `photo-${TURNED}gnp.exe`,
    `line\nbreak`,
    `${ESC}]0;harmed${BELL}`,
    "a\u200bb\u2066c",
    "javascript:window.harmed='yes'",
  ];
  for (const name of names) await writeFile(join(directory, name.replaceAll("/", "∕")), "contents");
  await using host = await scene.server.connect();
  await using kept = await host.terminal(["sh", "-c", "exec sleep 600", ...names], {
    keep: { name: "named-oddly" },
  });
  await using opened = await scene.open();
  const { page } = opened;
  for (const path of [`/f${directory}`, "/t"]) {
    await page.goto(`${scene.server.origin}${path}`);
    await opened.ready();
    const known = path.startsWith("/f") ? "photo-" : "named-oddly";
    await page.getByText(known).first().waitFor();
    const seen = await page.evaluate(() => ({
      harmed: "harmed" in window,
      title: document.title,
      made: document.querySelectorAll("img, script:not([src]), [onerror]").length,
      text: document.body.innerText,
    }));
    expect(seen).toMatchObject({ harmed: false, made: 0 });
    expect(seen.title).not.toContain("harmed");
    expect(seen.text).not.toMatch(HIDDEN);
  }
  await kept.terminate();
  opened.expectClean();
});
