import { afterAll, beforeAll, expect, it } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import { ConsolePage } from "./console-page.ts";
import { useConsole } from "./console-scene.ts";
import { expectOnScreen, screenOf } from "./terminal-screen.ts";

const COUNT = 30;
const NAMES = Array.from({ length: COUNT }, (_, number) => `many-${number}`);

const scene = useConsole();
let host: Host;

beforeAll(async () => {
  host = await scene.server.connect();
  for (const name of NAMES)
    await host.terminal(["sh", "-c", `echo this is ${name}; exec sleep 600`], { keep: { name } });
});

afterAll(async () => {
  await host?.close();
});

/** A page that had many tabs, and is loaded again. */
async function reopen(current: string): Promise<ConsolePage> {
  const opened = await scene.open();
  await opened.page.evaluate(
    ([names, index]) => {
      const tabs = names.map((name, id) => ({
        id,
        root: { kind: "pane", name, mode: "control" },
        focus: name,
      }));
      sessionStorage.setItem("exec-server-terminals-layout", JSON.stringify({ tabs, current: index }));
    },
    [NAMES, NAMES.indexOf(current)] as const,
  );
  await opened.page.goto(`${scene.server.origin}/t/${current}`);
  return opened.ready();
}

it("a page with many tabs opens the terminal that it shows, and the others when they are looked at", async () => {
  await using opened = await reopen("many-3");
  const { page } = opened;
  await expectOnScreen(screenOf(page), "this is many-3");
  expect(await page.getByRole("tab").count()).toBe(COUNT);
  expect(await page.locator(".xterm").count()).toBe(1);
  await page.getByRole("tab", { name: "many-4" }).click();
  await expectOnScreen(screenOf(page), "this is many-4");
  await page.getByRole("tab", { name: "many-3" }).click();
  await expectOnScreen(screenOf(page), "this is many-3");
  expect(await page.locator(".xterm").count()).toBe(2);
  opened.expectClean();
});

it("the tab that is shown is within the bar, also when keys continue to another one", async () => {
  await using opened = await reopen("many-27");
  const { page } = opened;
  const isWithin = (name: string): Promise<boolean> =>
    page.getByRole("tab", { name }).evaluate((tab) => {
      const box = tab.getBoundingClientRect();
      const bar = tab.closest("[role=tablist]")!.getBoundingClientRect();
      return box.width > 0 && box.left >= bar.left && box.right <= bar.right;
    });
  await expectOnScreen(screenOf(page), "this is many-27");
  await expect.poll(() => isWithin("many-27")).toBe(true);
  expect(await isWithin("many-0")).toBe(false);
  for (let step = 0; step < 3; step++) await page.keyboard.press("Alt+Shift+PageDown");
  await expectOnScreen(screenOf(page), "this is many-0");
  await expect.poll(() => isWithin("many-0")).toBe(true);
  opened.expectClean();
});

it("a tab that was never shown is closed with the same question, and its process ended", async () => {
  await using opened = await reopen("many-10");
  const { page } = opened;
  await expectOnScreen(screenOf(page), "this is many-10");
  // Whether it runs, the page knows from the list of terminals. It stores their commands with it.
  await expect
    .poll(() => page.evaluate(() => sessionStorage.getItem("exec-server-terminal-commands") ?? ""))
    .toContain('"many-11"');
  const question = page.getByRole("dialog", { name: "Close many-11?" });
  const close = async (answer: string): Promise<void> => {
    await page.getByRole("tab", { name: "many-11" }).click({ button: "middle" });
    await question.getByRole("button", { name: answer }).click();
  };
  const isThere = async (): Promise<boolean> =>
    (await host.processes({ scope: "kept" })).some(({ name }) => name === "many-11");
  await close("Cancel");
  await close("End it");
  await expect.poll(() => page.getByRole("tab").count()).toBe(COUNT - 1);
  await expect.poll(isThere).toBe(false);
  opened.expectClean();
});
