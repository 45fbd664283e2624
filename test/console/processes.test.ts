import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import type { RemoteProcess } from "../../src/client/process/remote-process.ts";
import { ConsolePage } from "./console-page.ts";
import { useConsole } from "./console-scene.ts";
import { HIDDEN, MARKUP, TURNED } from "./hostile-payload.ts";

const HUGE = "a".repeat(100_000);

const scene = useConsole();
let host: Host;

beforeAll(async () => {
  host = await scene.server.connect();
});

afterAll(async () => {
  await host?.close();
});

const start = (name: string, script = "exec sleep 600"): Promise<RemoteProcess> =>
  host.start(["sh", "-c", script], { keep: { name } });

/** The names in the list, from the top. */
const names = (page: Page): Promise<string[]> => page.locator(".proc-row .proc-name").allInnerTexts();

const rowOf = (page: Page, name: string): Locator =>
  page.locator(".proc-row", { has: page.locator(".proc-name", { hasText: new RegExp(`^${name}$`) }) });

const isListed = async (name: string): Promise<boolean> =>
  (await host.processes({ scope: "kept" })).some((listed) => listed.name === name);

const stateOf = async (name: string): Promise<string | undefined> =>
  (await host.processes({ scope: "kept" })).find((listed) => listed.name === name)?.state;

describe("the list", () => {
  let opened: ConsolePage;
  let page: Page;

  beforeAll(async () => {
    opened = await scene.open();
    ({ page } = opened);
  });

  afterAll(() => opened?.[Symbol.asyncDispose]());

  const filterBy = (text: string): Promise<void> => page.getByLabel("Filter the processes").fill(text);

  it("shows what others start, what it uses, and how it ends", async () => {
    const busy = await start("busy", "while :; do :; done");
    const row = rowOf(page, "busy");
    await row.getByText("running").waitFor();
    await expect.poll(() => row.locator(".memory").innerText()).toMatch(/^[\d.]+ ([KMG]i)?B$/);
    await expect.poll(async () => Number(await row.locator(".cpu").innerText())).toBeGreaterThan(0);
    await expect.poll(() => page.locator(".view-count").innerText()).toMatch(/^\d+ running/);
    await busy.terminate();
    await row.getByText("ended").waitFor();
    expect(await row.locator(".proc-exit").innerText()).toBe("SIGTERM");
    await start("failed", "exit 3");
    await expect.poll(() => rowOf(page, "failed").locator(".proc-exit").innerText()).toBe("3");
  });

  it("is filtered by words, and sorted by its columns with running ones first", async () => {
    for (const name of ["sort-b", "sort-c", "sort-a"]) await start(name);
    await start("sort-over", "exit 0");
    await rowOf(page, "sort-a").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("sort- sleep");
    await expect.poll(() => names(page)).toEqual(["sort-a", "sort-c", "sort-b"]);
    await page.keyboard.press("Enter");
    await filterBy("sort-");
    await page.getByRole("button", { name: "Process", exact: true }).click();
    await expect.poll(() => names(page)).toEqual(["sort-a", "sort-b", "sort-c", "sort-over"]);
    await page.getByRole("button", { name: "Process", exact: true }).click();
    await expect.poll(() => names(page)).toEqual(["sort-c", "sort-b", "sort-a", "sort-over"]);
    expect(await page.locator("[aria-sort=descending]").innerText()).toBe("Process");
    await filterBy("no such process");
    await page.getByText("No process matches the filter.").waitFor();
    await page.getByLabel("Filter the processes").press("Escape");
    await rowOf(page, "failed").waitFor();
  });

  it("keeps the menu of the right mouse button open when the button is released", async () => {
    await start("menu");
    await filterBy("menu");
    const box = (await rowOf(page, "menu").boundingBox())!;
    const [x, y] = [box.x + 40, box.y + 4];
    const items = page.getByRole("menuitem");
    await page.mouse.move(x, y);
    await page.mouse.down({ button: "right" });
    await items.first().waitFor();
    await page.mouse.up({ button: "right" });
    expect(await items.count()).toBeGreaterThan(1);
    await page.keyboard.press("Escape");
    expect(await items.count()).toBe(0);
    await page.mouse.click(x, y, { button: "right" });
    await items.first().waitFor();
    await page.getByRole("heading", { name: "Processes" }).click();
    expect(await items.count()).toBe(0);
  });

  it("signals, asks before it ends, and forgets what has ended", async () => {
    const script = "trap 'echo got it; exit 7' USR1; echo ready; while :; do sleep 0.05; done";
    await (await start("victim", script)).output()[Symbol.asyncIterator]().next();
    await filterBy("victim");
    await rowOf(page, "victim").waitFor();
    await rowOf(page, "victim").getByRole("button", { name: "Actions for victim" }).click();
    await page.getByRole("menuitem", { name: /Send a signal/ }).click();
    await page.getByRole("menuitem", { name: /SIGUSR1/ }).click();
    await page.getByText("Sent SIGUSR1 to victim.").waitFor();
    await expect.poll(() => rowOf(page, "victim").locator(".proc-exit").innerText()).toBe("7");
    await start("victim-2");
    await rowOf(page, "victim-2").click({ button: "right" });
    await page.getByRole("menuitem", { name: /^End/ }).click();
    await page.getByRole("dialog", { name: "End victim-2?" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    expect(await stateOf("victim-2")).toBe("running");
    await rowOf(page, "victim-2").click({ button: "right" });
    await page.getByRole("menuitem", { name: /^End/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End", exact: true }).click();
    await expect.poll(() => stateOf("victim-2")).toBe("closed");
    await rowOf(page, "victim-2").getByText("ended").waitFor();
    await rowOf(page, "victim-2").click({ button: "right" });
    await page.getByRole("menuitem", { name: /^Forget/ }).click();
    await expect.poll(() => isListed("victim-2")).toBe(false);
    await expect.poll(() => names(page)).toEqual(["victim"]);
  });

  it("ends a shell by hanging up, as a window does that is closed: it ignores SIGTERM", async () => {
    const shell = await host.terminal(["bash", "--norc", "-i"], { keep: { name: "a-shell" } });
    await filterBy("a-shell");
    await rowOf(page, "a-shell").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("ArrowDown");
    await page.locator(".proc-row.current").waitFor();
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").getByRole("button", { name: "End", exact: true }).click();
    expect(await shell.exited).toMatchObject({ signal: "SIGHUP" });
    await expect.poll(() => rowOf(page, "a-shell").locator(".proc-exit").innerText()).toBe("SIGHUP");
  });

  it("ends several at once, and forgets them", async () => {
    const several = ["several-1", "several-2", "several-3"];
    for (const name of several) await start(name);
    await start("not-this-one");
    await filterBy("several");
    await expect.poll(async () => (await names(page)).length).toBe(3);
    for (const name of several)
      await page.getByRole("checkbox", { name: `Select ${name}` }).check({ force: true });
    const bar = page.getByRole("toolbar", { name: "Selected processes" });
    await bar.getByText("3 selected").waitFor();
    await bar.getByRole("button", { name: "End" }).click();
    await page.getByRole("dialog", { name: "End 3 processes?" }).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "End", exact: true }).click();
    for (const name of several) await expect.poll(() => stateOf(name)).toBe("closed");
    expect(await stateOf("not-this-one")).toBe("running");
    await bar.waitFor({ state: "hidden" });
    // Rows that end move, and would do so under the pointer.
    for (const name of several)
      await expect.poll(() => rowOf(page, name).locator(".proc-exit").innerText()).toBe("SIGTERM");
    for (const name of several)
      await page.getByRole("checkbox", { name: `Select ${name}` }).check({ force: true });
    await bar.getByRole("button", { name: "Forget" }).click();
    await page.getByText("No process matches the filter.").waitFor();
    expect(await stateOf("not-this-one")).toBe("running");
    await filterBy("");
    opened.expectClean();
  });

  it("shows commands, labels and directories as text, whatever is in them", async () => {
    const odd = `<b>${TURNED}gnp\n\x1b[31m`;
    const directory = join(scene.server.workDirectory, odd);
    await mkdir(directory);
    await host.start(["sh", "-c", "exec sleep 600", ...MARKUP, odd, HUGE], {
      cwd: directory,
      label: `${MARKUP[0]}${TURNED}`,
      keep: { name: "odd" },
    });
    await filterBy("odd");
    await rowOf(page, "odd").waitFor();
    const check = async (): Promise<void> => {
      const seen = await page.evaluate(() => ({
        harmed: "harmed" in window,
        title: document.title,
        made: document.querySelectorAll("img, script:not([src]), [onerror], b").length,
        text: document.body.innerText,
        titles: [...document.querySelectorAll("[title]")].map(
          ({ attributes }) => attributes.getNamedItem("title")!.value,
        ),
        wide: document.documentElement.scrollWidth > innerWidth,
      }));
      expect(seen).toMatchObject({ harmed: false, made: 0, wide: false });
      expect(seen.title).not.toContain("harmed");
      expect([seen.text, ...seen.titles].filter((text) => HIDDEN.test(text))).toEqual([]);
    };
    await check();
    await rowOf(page, "odd").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Open the output" }).click();
    await page.getByRole("heading", { name: "odd" }).waitFor();
    await page.getByText(String.raw`<b>\u202egnp\n\x1b[31m`).first().waitFor();
    await check();
    await page.goBack();
    opened.expectClean();
  });
});
