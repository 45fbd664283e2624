import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest";
import { tokenSubprotocols } from "../../src/base/subprotocol-token.ts";
import { pageStatus } from "../access/console-browser.ts";
import { type RunningCommand, startCommand } from "../cli/command.ts";
import { ECHO_APP } from "../access/preview-browser.ts";
import { type FleetDesk, openFleetDesk } from "../cli/fleet-desk.ts";
import { launchChromium } from "../fixtures/launch-chromium.ts";
import { seriousFindings } from "./accessibility.ts";
import { ConsolePage, type PageOptions } from "./console-page.ts";
import { FleetBeats, SCENE_NAMES } from "./fleet-beats.ts";
import { MARKUP, TURNED } from "./hostile-payload.ts";
import { expectOnScreen, screenOf, typeLine } from "./terminal-screen.ts";

/** SCREENSHOTS=docs/images writes pictures there. */
const pictures = process.env["SCREENSHOTS"];
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
/** Of a chart. */
const LEAST_VALUES = 6;
const HOSTILE = { note: MARKUP[0]!, turned: `${TURNED}left`, wide: "w".repeat(250) };

let browser: Browser;
let desk: FleetDesk;
let command: RunningCommand;
let shown: ConsolePage;
let page: Page;

beforeAll(async () => {
  [browser, desk] = await Promise.all([launchChromium(), openFleetDesk()]);
  command = startCommand(["-H", "prod", "open", "--print"], { env: desk.person.env });
  await Promise.all([command.shows("\n"), command.complains("serving the web console")]);
  // Tabs of one browser, because one opens another.
  shown = await openPage(command.stdout.trim(), { losesConnections: true });
  page = shown.page;
});

afterAll(async () => {
  command?.child.kill("SIGTERM");
  await Promise.all([browser?.close(), desk?.[Symbol.asyncDispose]()]);
});

async function openPage(link: string, options: PageOptions = {}): Promise<ConsolePage> {
  return (await ConsolePage.open(browser, link, { opensTabs: true, ...options })).ready();
}

const row = (id: string): Locator => page.locator(".fleet-row", { has: page.getByText(id, { exact: true }) });
const names = (): Promise<string[]> => page.locator(".fleet-row > .name").allInnerTexts();

it("axe finds nothing serious, light and dark, on a desktop and a phone, and nothing is wider than the window", async () => {
  await using beats = await FleetBeats.open(desk.nats);
  const chart = (): Promise<string | null | undefined> =>
    page.evaluate(() => document.querySelector(".sparkline-line")?.getAttribute("d"));
  const loads = (): Promise<string[]> => page.locator(".fleet-row .load").allInnerTexts();
  // Enough for a chart; for a picture, a full one.
  for (let round = 0; round < (pictures === undefined ? 7 : 30); round += 1) {
    const before = await loads();
    beats.tell(round);
    await expect.poll(names).toEqual(SCENE_NAMES);
    await expect.poll(loads).not.toEqual(before);
    // A few values would be a dot. Beats are also repeated, so a slow round has several.
    const line = await chart();
    if (beats.rounds < LEAST_VALUES) expect(line).toBeUndefined();
  }
  await expect.poll(chart).toBeDefined();
  const findings: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const [device, size] of Object.entries(SIZES)) {
      await page.setViewportSize(size);
      await expect.poll(() => page.getByRole("link", { name: "Terminal of gpu-2" }).isVisible()).toBe(true);
      for (const finding of await seriousFindings(page))
        findings.push(`${colorScheme} ${device}: ${finding}`);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(size.width);
      if (pictures !== undefined)
        await page.screenshot({ path: `${pictures}/console-fleet-${colorScheme}-${device}.png` });
    }
  }
  await page.setViewportSize(SIZES.desktop);
  expect(findings).toEqual([]);
});

it("an empty fleet says how a machine joins; machines appear when they do, and go when they leave", async () => {
  await expect
    .poll(() => page.locator(".fleet-join").innerText())
    .toBe(`exec-server serve --fleet ${desk.nats.url} --id NAME`);
  await desk.join("web-2", { zone: "eu" });
  await expect.poll(names).toEqual(["web-2"]);
  await desk.join("web-10", { zone: "us", disk: "ssd" });
  const leaving = await desk.join("web-1");
  await expect.poll(names).toEqual(["web-1", "web-2", "web-10"]);
  await expect.poll(() => page.locator("h1").innerText()).toMatch(/^prod\s*3 machines, 0 running, 12 free$/);
  await expect.poll(() => row("web-10").innerText()).toMatch(/ready\s+0 of 4\s+\d+\.\d\d?\s+1\.2\.3\s+\d+s/);
  await leaving.close();
  await expect.poll(names).toEqual(["web-2", "web-10"]);
  await expect.poll(() => page.getByRole("status").allInnerTexts()).toContain("web-1 left");
});

it("what machines report is text, on one line, and numbers stay short", async () => {
  const beats = await FleetBeats.open(desk.nats);
  const most = Number.MAX_SAFE_INTEGER;
  const facts = { id: "evil", running: most, free: most, load: 1e300, version: MARKUP[1]! };
  beats.sendBeat({ ...facts, labels: HOSTILE });
  await expect.poll(() => row("evil").innerText()).toContain("note=<img src=x onerror=");
  const text = await row("evil").innerText();
  expect(text).toContain("turned=\\u202eleft");
  expect(text).toContain("<script>");
  expect(text).toMatch(/1000000\+ of 1000000\+\s+1000\+/);
  expect(await page.locator(".fleet-row :is(img, script, svg[onload])").count()).toBe(0);
  expect(await page.evaluate(() => ["harmed" in window, document.title])).toEqual([
    false,
    "prod · Machines · exec-server",
  ]);
  expect((await row("evil").boundingBox())!.height).toBeLessThan(50);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1280);
  await beats[Symbol.asyncDispose]();
  await expect.poll(names).toEqual(["web-2", "web-10"]);
});

it("words and labels filter the list, and heads of columns sort it", async () => {
  await page.keyboard.press("/");
  await page.keyboard.type("SSD ready");
  await expect.poll(names).toEqual(["web-10"]);
  await page.keyboard.press("Escape");
  await expect.poll(names).toEqual(["web-2", "web-10"]);
  await page.getByRole("button", { name: "zone=eu" }).click();
  await expect.poll(names).toEqual(["web-2"]);
  await page.getByRole("button", { name: "Also show machines without zone=eu" }).click();
  await page.getByRole("button", { name: "Machine", exact: true }).click();
  await expect.poll(names).toEqual(["web-10", "web-2"]);
  await page.getByRole("button", { name: "Machine", exact: true }).click();
});

it("a machine is cordoned by keys, and uncordoned by the menu", async () => {
  await page.getByRole("grid").focus();
  await page.keyboard.press("j");
  await page.keyboard.press("c");
  await expect.poll(() => row("web-2").innerText()).toContain("cordoned");
  const listed = await desk.person.run(["fleet", "ls", "--json"]);
  expect(JSON.parse(listed.stdout)).toMatchObject([{ state: "ready" }, { state: "cordoned" }]);
  await page.getByRole("button", { name: "Actions for web-2" }).click();
  await page.getByRole("menuitem", { name: "Uncordon" }).click();
  await expect.poll(() => row("web-2").innerText()).toContain("ready");
});

it("a terminal of a machine opens in a tab with an origin of its own, and takes input", async () => {
  const [tab] = await Promise.all([
    page.waitForEvent("popup"),
    page.getByRole("link", { name: "Terminal of web-2" }).click(),
  ]);
  await expectOnScreen(screenOf(tab), /[$#]\s*$/m);
  await typeLine(tab, "echo on-the''-fleet");
  await expectOnScreen(screenOf(tab), "on-the-fleet");
  expect(new URL(tab.url()).origin).not.toBe(new URL(page.url()).origin);
  await expect.poll(() => tab.locator(".rail-where").innerText()).toBe("prod/web-2");
  expect(await tab.evaluate(() => [window.opener, location.hash])).toEqual([null, ""]);
  await expect.poll(() => row("web-2").innerText()).toMatch(/1 of 4/);
  // So do its ports, over NATS.
  await typeLine(tab, `'${process.execPath}' '${ECHO_APP}'`);
  await expectOnScreen(screenOf(tab), /^\s*\d{4,5}\s*$/m);
  await tab.getByRole("link", { name: "Ports" }).click();
  const [preview] = await Promise.all([
    tab.waitForEvent("popup"),
    tab.getByRole("button", { name: "Open port" }).click(),
  ]);
  await preview.getByText('"method":"GET"').waitFor();
  expect(new URL(preview.url()).hostname).toMatch(/^[0-9a-f]{40}\.localhost$/);
  await preview.close();
  await tab.close();
});

it("Enter opens the console of the machine under the cursor; one that is gone says so", async () => {
  await page.getByRole("grid").focus();
  await page.keyboard.press("j");
  const [tab] = await Promise.all([page.waitForEvent("popup"), page.keyboard.press("Enter")]);
  await tab.getByRole("navigation", { name: "Views" }).waitFor();
  await expect.poll(() => tab.locator(".rail-where").innerText()).toBe("prod/web-10");
  await tab.close();
  await using stranger = await openTab("/t/web-77");
  await expect
    .poll(() => stranger.page.getByRole("alert").innerText())
    .toContain("web-77 is not in the fleet 'prod'");
  await stranger.page.getByRole("link", { name: "Show the fleet" }).click();
  await expect.poll(() => stranger.page.locator(".fleet-row").count()).toBe(2);
});

/** Another tab of the same person. */
async function openTab(path: string): Promise<{ readonly page: Page } & AsyncDisposable> {
  const tab = await page.context().newPage();
  await tab.goto(new URL(path, page.url()).href);
  return { page: tab, [Symbol.asyncDispose]: () => tab.close() };
}

it("only the page itself gets in, and nothing else than its requests is taken", async () => {
  const url = new URL(page.url()).origin.replace("http", "ws");
  const secret = await page.evaluate(() => Object.values(sessionStorage)[0] as string);
  expect(await pageStatus(url, secret)).toBe(101);
  expect(await pageStatus(url, secret, { origin: "http://evil.example" })).toBe(403);
  expect(await pageStatus(url, undefined)).toBe(403);
  const closed = (text: string): Promise<number> =>
    page.evaluate(
      ({ url: target, protocols, message }) =>
        new Promise<number>((resolve) => {
          const socket = new WebSocket(target, protocols);
          socket.addEventListener("open", () => socket.send(message));
          socket.addEventListener("close", ({ code }) => resolve(code));
        }),
      { url, protocols: tokenSubprotocols(secret), message: text },
    );
  expect(await closed('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}')).toBe(1008);
  expect(await closed("[")).toBe(1008);
  expect(await closed(JSON.stringify({ request: 1, do: "open", machine: "x".repeat(5000) }))).toBe(1008);
});

it("a tab without a link names the command that gives one, and goes where that link leads", async () => {
  const other = startCommand(["-H", "prod", "open", "--print"], { env: desk.person.env });
  onTestFinished(() => void other.child.kill("SIGTERM"));
  await Promise.all([other.shows("\n"), other.complains("serving the web console")]);
  const link = other.stdout.trim();
  await using stranger = await ConsolePage.open(browser, command.stdout.trim(), {
    refused: true,
    opensTabs: true,
  });
  const tab = stranger.page;
  await tab.getByRole("heading", { name: "Open the fleet prod" }).waitFor();
  const card = tab.locator(".entrance-card");
  expect(await card.innerText()).toContain("run exec-server -H prod open");
  expect(await card.innerText()).not.toMatch(/server printed|on its machine/);
  expect(await tab.getByRole("alert").innerText()).toBe(
    "This link has already been used; for another one, run: exec-server -H prod open",
  );
  for (const colorScheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme });
    expect(await seriousFindings(tab)).toEqual([]);
    if (pictures !== undefined)
      await card.screenshot({ path: `${pictures}/fleet-entrance-${colorScheme}.png` });
  }
  await tab.getByLabel("Link").fill(link);
  await tab.keyboard.press("Enter");
  await stranger.ready();
  expect(new URL(tab.url()).origin).toBe(new URL(link).origin);
  stranger.expectClean();
});

it("says that NATS is lost while it is, and continues when it is back", async () => {
  await desk.nats.kill();
  const banner = page.locator(".banner");
  await expect
    .poll(() => banner.allInnerTexts())
    .toEqual([expect.stringContaining("NATS cannot be reached")]);
  expect(await names()).toEqual(["web-2", "web-10"]);
  await desk.nats.start();
  await expect.poll(() => banner.count()).toBe(0);
  await desk.join("web-3");
  await expect.poll(names).toEqual(["web-2", "web-3", "web-10"]);
});

it("says what to do when the command has ended", async () => {
  shown.expectClean();
  command.child.kill("SIGINT");
  expect(await command.ended()).toMatchObject({ status: 0, signal: null });
  await expect.poll(() => page.locator(".banner").innerText()).toContain("exec-server -H prod open");
});
