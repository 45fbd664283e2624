import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { launchChromium } from "../fixtures/launch-chromium.ts";
import { ConsolePage } from "./console-page.ts";
import { ConsoleServer } from "./console-server.ts";
import { expectOnScreen, screenOf } from "./terminal-screen.ts";

const ESC = "\x1b";
const BELL = "\x07";
/** From right to left, until the end. */
const TURNED = "\u202e";
/** Characters that turn or hide others. */
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}]/u;
const SCRIPT = "window.harmed='yes';document.title='harmed'";
const MARKUP = [
  `<img src=x onerror="${SCRIPT}">`,
  `<script>${SCRIPT}</script>`,
  `"><svg onload="${SCRIPT}">`,
  `<a href="javascript:${SCRIPT}">click</a>`,
  `{{constructor.constructor('${SCRIPT}')()}}`,
];
const SEQUENCES = [
  `${ESC}]0;harmed${BELL}`,
  `${ESC}]2;<b>harmed</b>${ESC}\\`,
  `${ESC}]52;c;${Buffer.from("harmed").toString("base64")}${BELL}`,
  `${ESC}]52;p;${Buffer.from("harmed").toString("base64")}${ESC}\\`,
  `${ESC}]52;c;?${BELL}`,
  `${ESC}]1337;File=inline=1:${Buffer.from("harmed").toString("base64")}${BELL}`,
  `${ESC}]7;file:///etc/passwd${BELL}`,
  `${ESC}]9;harmed${BELL}`,
  `${ESC}P+q544e${ESC}\\`,
  `${ESC}[21t`,
  `${ESC}[8;4;20t`,
];
const LINKS = [
  "javascript:window.harmed='yes'",
  "data:text/html,<script>1</script>",
  "file:///etc/passwd",
  "vbscript:x",
];

let browser: Browser;
let server: ConsoleServer;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchChromium(), ConsoleServer.start()]);
});

afterAll(() => Promise.all([browser?.close(), server?.[Symbol.asyncDispose]()]));

/** What output must not change. */
async function surroundings(page: Page): Promise<unknown> {
  return page.evaluate(async () => ({
    title: document.title,
    address: location.href,
    harmed: "harmed" in window,
    clipboard: await navigator.clipboard.readText(),
    stored: Object.keys(sessionStorage),
    scripts: document.querySelectorAll("script, iframe, object, embed, base, form[action], meta").length,
    // Elements that markup in output would have made.
    made: document.querySelectorAll(
      "img:not([class]), svg[onload], a[href^='javascript:'], [onerror], [onload]",
    ).length,
    /** The elements around the terminal, by their names. */
    around: [...document.querySelectorAll("body *")]
      .filter(
        (element) => element.closest(".xterm, .term-notice, .term-people, [aria-live], .toasts") === null,
      )
      .map((element) => element.localName)
      .join(" "),
  }));
}

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
  const payload = join(server.workDirectory, "payload");
  const linked = LINKS.map((target, index) => `${ESC}]8;;${target}${ESC}\\link-${index}${ESC}]8;;${ESC}\\`);
  const plain = LINKS.map((target) => `${target} is what it says`);
  await writeFile(
    payload,
    [...MARKUP, ...SEQUENCES, ...linked, ...plain, `${TURNED}gnp.exe`, "end-of-it"].join("\r\n"),
  );
  await using host = await server.connect();
  const script = `read line; cat ${payload}; exec sleep 600`;
  const started = await host.terminal(["sh", "-c", script], { keep: { name: "hostile" } });
  await using opened = await ConsolePage.open(browser, await server.newLink(), {
    permissions: ["clipboard-read", "clipboard-write"],
  });
  await opened.ready();
  const { page } = opened;
  await page.goto(`${server.origin}/t/hostile`);
  const screen = screenOf(page);
  await page.locator(".xterm-rows").waitFor();
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  const before = await surroundings(page);
  expect(before).toMatchObject({ clipboard: "mine", harmed: false });
  await started.write("go\n");
  await expectOnScreen(screen, "end-of-it");
  // Text is text.
  for (const text of MARKUP) await expectOnScreen(screen, text);
  for (const text of [...LINKS.keys()].map((index) => `link-${index}`).concat(LINKS))
    await clickOn(page, text);
  await page.mouse.move(0, 0);
  await expect.poll(() => surroundings(page)).toEqual(before);
  await started.terminate();
  opened.expectClean();
});

it("names of files and processes are text, and what turns or hides text in them is made visible", async () => {
  const directory = join(server.workDirectory, "names");
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
  await using host = await server.connect();
  await using kept = await host.terminal(["sh", "-c", "exec sleep 600", ...names], {
    keep: { name: "named-oddly" },
  });
  await using opened = await ConsolePage.open(browser, await server.newLink());
  await opened.ready();
  const { page } = opened;
  for (const path of [`/f${directory}`, "/t"]) {
    await page.goto(`${server.origin}${path}`);
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
