import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import { startApp } from "../access/preview-browser.ts";
import { useConsole } from "./console-scene.ts";
import { pressTogether } from "./press-together.ts";

const PREVIEW = /^http:\/\/[0-9a-f]{40}\.localhost:\d+\/$/;

const scene = useConsole();
let host: Host;

beforeAll(async () => {
  host = await scene.server.connect();
});

afterAll(async () => {
  await host?.close();
});

/** Does what opens a port, and waits for the tab. */
async function opening(page: Page, act: () => Promise<void>): Promise<Page> {
  const [popup] = await Promise.all([page.waitForEvent("popup"), act()]);
  await popup.waitForURL(PREVIEW);
  return popup;
}

/** Ends every process of the session, and waits until their ports are gone. */
async function endAll(): Promise<void> {
  const { processes } = await host.request("process/list", {});
  for (const { processId } of processes) await host.request("process/terminate", { processId, mode: "now" });
  await expect.poll(async () => (await host.request("process/ports", null)).ports).toEqual([]);
}

it("a port appears when a program listens, opens in a tab of its own origin, and leaves with its program", async () => {
  await using opened = await scene.open({ opensTabs: true });
  const { page } = opened;
  await page.goto(`${scene.server.origin}/o`);
  await page.getByText("Nothing listens yet").waitFor();
  const port = await startApp(host);
  const row = page.locator("tr", { hasText: String(port) });
  await row.waitFor();
  expect(await page.locator("thead th").allInnerTexts()).toEqual([
    "Port",
    "Program",
    "Process",
    "Address",
    "Preview",
  ]);
  expect(await row.innerText()).toMatch(new RegExp(`${port}\\s+node \\d+\\s.*127\\.0\\.0\\.1:${port}`, "s"));
  const preview = await opening(page, () => row.getByRole("button", { name: `Open port ${port}` }).click());
  expect(JSON.parse(await preview.locator("body").innerText())).toMatchObject({ method: "GET", url: "/" });
  const seen = await preview.evaluate(
    async ({ origin }) => {
      const socket = new WebSocket(`ws://${location.host}/hmr`);
      const first = await new Promise<string>((resolve, reject) => {
        socket.addEventListener("message", ({ data }: MessageEvent<string>) => resolve(data));
        socket.addEventListener("error", () => reject(new Error("the WebSocket was refused")));
      });
      const echoed = new Promise<string>((resolve) =>
        socket.addEventListener("message", ({ data }: MessageEvent<string>) => resolve(data)),
      );
      socket.send("hello");
      const ask = (path: string, init?: RequestInit): Promise<string> =>
        fetch(`${origin}${path}`, init).then(
          async (response) => `answered ${response.status}`,
          () => "blocked",
        );
      return {
        hasSocket: first.includes("Upgrade"),
        echoed: await echoed,
        opener: window.opener === null,
        cookie: document.cookie.includes("exec-server"),
        stored: sessionStorage.length,
        state: await ask("/console/state"),
        previews: await ask("/console/previews", { method: "POST", body: "{}" }),
      };
    },
    { origin: scene.server.origin },
  );
  expect(seen).toEqual({
    hasSocket: true,
    echoed: "hello",
    opener: true,
    cookie: false,
    stored: 0,
    state: "blocked",
    previews: "blocked",
  });
  // Opened again, it is the same origin.
  const again = await opening(page, () => row.getByRole("button").click());
  expect(again.url()).toBe(preview.url());
  await endAll();
  await row.waitFor({ state: "hidden" });
  // The server looks who listens once a second or so.
  const reloaded = async (): Promise<string> => {
    await preview.reload();
    return preview.locator("body").innerText();
  };
  await expect.poll(reloaded).toContain("None of your processes listens on port");
  // Without the console, the address alone opens nothing.
  const stranger = await scene.browser.newContext();
  try {
    const other = await stranger.newPage();
    await other.goto(preview.url());
    await other.getByText("This browser has not opened this port").waitFor();
  } finally {
    await stranger.close();
  }
});

it("keys and the palette open a port; the process of a port is a link", async () => {
  const kept = await host.start(
    ["sh", "-c", `exec "$0" -e "require('net').createServer().listen(0, '127.0.0.1')"`, process.execPath],
    {
      keep: { name: "listener" },
    },
  );
  const port = await startApp(host);
  await using opened = await scene.open({ opensTabs: true });
  const { page } = opened;
  await page.getByRole("grid", { name: "Processes" }).waitFor();
  await pressTogether(page, "go");
  await page.getByRole("heading", { name: "Ports" }).waitFor();
  const button = page.getByRole("button", { name: `Open port ${port}` });
  await button.focus();
  await opening(page, () => page.keyboard.press("Enter"));
  await page.keyboard.press("Control+k");
  await page.keyboard.type(`open port ${port}`);
  await page.getByRole("dialog", { name: "Commands" }).getByText(`Open port ${port}`).waitFor();
  await opening(page, () => page.keyboard.press("Enter"));
  await page.getByRole("link", { name: "listener" }).click();
  await page.waitForURL(`${scene.server.origin}/p/listener`);
  await kept.kill();
  await endAll();
  opened.expectClean();
});

it("what cannot be opened is said, with the reason, and leaves no empty tab", async () => {
  const port = await startApp(host);
  await using opened = await scene.open({ opensTabs: true, refused: true });
  const { page } = opened;
  await page.goto(`${scene.server.origin}/o`);
  const button = page.getByRole("button", { name: `Open port ${port}` });
  await button.waitFor();
  await page.route("**/console/previews", (route) =>
    route.fulfill({ status: 409, json: { error: "not-local", message: "forward <b>the port</b>" } }),
  );
  const [popup] = await Promise.all([page.waitForEvent("popup"), button.click()]);
  await page.getByRole("status").getByText(`Port ${port} was not opened: forward <b>the port</b>`).waitFor();
  await expect.poll(() => popup.isClosed()).toBe(true);
  await endAll();
  opened.expectClean();
});
