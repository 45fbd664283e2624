import { createHash } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchChromium } from "../fixtures/launch-chromium.ts";
import { ConsolePage } from "./console-page.ts";
import { ConsoleServer } from "./console-server.ts";

let browser: Browser;

beforeAll(async () => {
  browser = await launchChromium();
});

afterAll(() => browser?.close());

describe("without authentication", () => {
  let server: ConsoleServer;

  beforeAll(async () => {
    server = await ConsoleServer.start();
  });

  afterAll(() => server?.[Symbol.asyncDispose]());

  it("the printed link opens the console once; neither the address nor the history keeps it", async () => {
    const { link } = server;
    await using first = await ConsolePage.open(browser, link);
    await first.ready();
    expect(first.page.url()).toBe(`${server.origin}/`);
    // Loaded again, the tab has its secret still.
    await first.page.reload();
    await first.ready();
    first.expectClean();
    await using second = await ConsolePage.open(browser, link, { refused: true });
    await second.page.getByRole("heading", { name: "Open a link" }).waitFor();
    await expect
      .poll(() => second.page.getByRole("alert").innerText())
      .toMatch(/already been used.*open --print/s);
    second.expectClean();
  });

  it("a new link can be pasted; what is no link of this server is refused with a remedy", async () => {
    await using opened = await ConsolePage.open(browser, server.origin, { refused: true });
    const { page } = opened;
    // Without its URL, the command would print a link of somebody's own server.
    const command = `exec-server open --print --url ${server.origin.replace("http", "ws")}`;
    await expect.poll(() => page.locator("main code").innerText()).toBe(command);
    await page.getByLabel("Link").fill(`${server.origin}/#link=${"x".repeat(43)}`);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("alert").innerText()).toMatch(/open --print/);
    await page.getByLabel("Link").fill(await server.newLink());
    await page.keyboard.press("Enter");
    await opened.ready();
    opened.expectClean();
  });

  it("a GET of the link spends nothing, and a tab without it has no way in", async () => {
    const link = await server.newLink();
    const headers = { accept: "text/html" };
    for (let time = 0; time < 3; time += 1) expect((await fetch(link, { headers })).status).toBe(200);
    await using stranger = await ConsolePage.open(browser, server.origin);
    await stranger.page.getByLabel("Link").waitFor();
    stranger.expectClean();
    await using opened = await ConsolePage.open(browser, link);
    await opened.ready();
    opened.expectClean();
  });

  it("a page of another origin neither trades a link, nor connects with a secret, nor shows the console in a frame", async () => {
    await using opened = await ConsolePage.open(browser, await server.newLink());
    await opened.ready();
    const secret = await opened.page.evaluate(() => Object.values(sessionStorage)[0] as string);
    expect(secret.length).toBeGreaterThan(20);
    await using foreign = await foreignPages(`<iframe src="${server.origin}/"></iframe>`);
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      await page.goto(foreign.url);
      const link = await server.newLink();
      const outcome = await page.evaluate(
        async ({ origin, link, secret }) => {
          const trade = (headers: Record<string, string>): Promise<string> =>
            fetch(`${origin}/console/session`, {
              method: "POST",
              headers,
              body: JSON.stringify({ token: link.split("#link=")[1] }),
            }).then(
              (response) => `answered ${response.status}`,
              () => "blocked",
            );
          const socket = new WebSocket(origin.replace("http:", "ws:"), [
            "exec-server",
            `exec-server.bearer.${btoa(secret).replaceAll("=", "")}`,
          ]);
          const connected = await new Promise<string>((resolve) => {
            socket.addEventListener("open", () => resolve("open"));
            socket.addEventListener("error", () => resolve("refused"));
          });
          return {
            json: await trade({ "content-type": "application/json" }),
            // What a browser sends without asking the server first.
            simple: await trade({ "content-type": "text/plain" }),
            connected,
          };
        },
        { origin: server.origin, link, secret },
      );
      expect(outcome).toEqual({ json: "blocked", simple: "blocked", connected: "refused" });
      const frame = page.frames()[1]!;
      await expect.poll(() => frame.url()).toMatch(/^chrome-error:/);
      // None of it has spent the link.
      await using later = await ConsolePage.open(browser, link);
      await later.ready();
    } finally {
      await context.close();
    }
  });
});

/** It has all rights, until a test withdraws it. */
const WITHDRAWN = "a-token-that-is-withdrawn";
/** What the tokens of a preset have besides. Their names have their place in the table. */
const MORE: Readonly<Record<string, string>> = {
  files: 'roots = ["/usr/share"]\n',
  observe: 'see = ["full-2"]\n',
};

describe("with tokens", () => {
  let server: ConsoleServer;
  const path = join("/var/tmp", `exec-server-console-tokens-${process.pid}.toml`);
  const tokens = {
    observe: "a-token-to-look-on",
    files: "a-token-for-files-only",
    full: "a-token-for-everything",
  };

  const writeTable = async (given: readonly (readonly [preset: string, token: string])[]): Promise<void> => {
    const table = given.map(([preset, token], index) => {
      const sha256 = createHash("sha256").update(token).digest("hex");
      return `[[token]]\nname = "${preset}-${index}"\nsha256 = "${sha256}"\npreset = "${preset}"\n${MORE[preset] ?? ""}`;
    });
    // The server may read it at any time, and must not find half of it.
    await writeFile(`${path}.new`, table.join("\n"), { mode: 0o600 });
    await rename(`${path}.new`, path);
  };

  beforeAll(async () => {
    await writeTable([...Object.entries(tokens), ["full", WITHDRAWN]]);
    server = await ConsoleServer.start({ args: ["--ws-auth", "token-table", "--ws-token-table", path] });
  });

  afterAll(() => Promise.all([server?.[Symbol.asyncDispose](), rm(path, { force: true })]));

  /** A page that has got in by a token. */
  async function openWith(token: string): Promise<ConsolePage> {
    const opened = await ConsolePage.open(browser, server.origin);
    await opened.page.getByLabel("Token").fill(token);
    await opened.page.keyboard.press("Enter");
    return opened.ready();
  }

  it("the page asks for one, refuses a wrong one with a remedy, and shows what the right one may do", async () => {
    await using opened = await ConsolePage.open(browser, server.origin, {
      refused: true,
      losesConnections: true,
    });
    const { page } = opened;
    await page.getByLabel("Token").fill("wrong");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("alert").innerText()).toMatch(/does not accept this token/);
    await page.getByLabel("Token").fill(tokens.full);
    await page.keyboard.press("Enter");
    await opened.ready();
    opened.expectClean();
  });

  it.each([
    ["observe", ["Processes", "Terminals", "Inspector", "Rows", "System"]],
    ["files", ["Files", "Inspector", "Rows"]],
  ] as const)("a token with the preset %s is shown the views that it may use: %j", async (preset, names) => {
    await using opened = await openWith(tokens[preset]);
    const views = opened.page.getByRole("navigation", { name: "Views" });
    expect(await views.getByRole("link").allInnerTexts()).toEqual(names);
    opened.expectClean();
  });

  it("a token that only looks on is offered nothing that starts a process, by buttons, keys or the palette", async () => {
    await using allowed = await openWith(tokens.full);
    expect(await startersOn(allowed)).toEqual({
      buttons: ["New terminal"],
      commands: ["New terminal", "New terminal, even in a terminal", "Split down", "Split to the right"],
      processCommands: ["End the process, or those selected", "Send a signal", "Start a process"],
    });
    await using opened = await openWith(tokens.observe);
    const { page } = opened;
    expect(await startersOn(opened)).toEqual({ buttons: [], commands: [], processCommands: [] });
    await page.goto(`${server.origin}/t`);
    await page.getByText("Terminals that others start appear here").waitFor();
    await page.goto(server.origin);
    await opened.ready();
    // The second key opens a dialog, and the first would have opened another one.
    await page.keyboard.press("n");
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    expect(await page.getByRole("dialog").allInnerTexts()).toEqual([
      expect.stringContaining("In a terminal all keys belong"),
    ]);
    opened.expectClean();
  });

  it("a token that only looks on sees processes and output of others, and nothing that selects, signals, ends or types", async () => {
    await using host = await server.connect({ token: tokens.full });
    await using running = await host.start(["sh", "-c", "echo to be seen; cat"], {
      keep: { name: "watched" },
      stdin: "pipe",
    });
    const offersOf = async (opened: ConsolePage) => {
      const { page } = opened;
      await page.goto(server.origin);
      await page.getByRole("button", { name: "Actions for watched" }).click();
      const menu = page.getByRole("menu", { name: "Actions" });
      await menu.waitFor();
      const actions = (await menu.getByRole("menuitem").allInnerTexts()).map((text) => text.split("\n")[0]);
      const boxes = await page.locator(".proc-row input").count();
      await menu.getByRole("menuitem", { name: "Open the output" }).click();
      await page.getByText("to be seen", { exact: true }).waitFor();
      const buttons = page.locator(".out-head button, .out-input button");
      return { actions, boxes: boxes > 0, buttons: await buttons.allInnerTexts() };
    };
    await using looking = await openWith(tokens.observe);
    expect(await offersOf(looking)).toEqual({
      actions: ["Open the output", "Copy the command"],
      boxes: false,
      buttons: [],
    });
    looking.expectClean();
    await using allowed = await openWith(tokens.full);
    expect(await offersOf(allowed)).toEqual({
      actions: ["Open the output", "Start again…", "Copy the command", "Send a signal…", "End…"],
      boxes: true,
      buttons: ["Signal", "End", "Send", "End input"],
    });
    await running.terminate();
  });

  it("a page whose token is withdrawn asks for another one at once", async () => {
    await using opened = await ConsolePage.open(browser, server.origin, {
      refused: true,
      losesConnections: true,
    });
    const { page } = opened;
    await page.getByLabel("Token").fill(WITHDRAWN);
    await page.keyboard.press("Enter");
    await opened.ready();
    await writeTable(Object.entries(tokens));
    await page.locator(".rail-state:not(.connected)").or(page.getByLabel("Token")).first().waitFor();
    // A session that only tries to recover gives up after 50 s.
    await page.getByText("Your access has ended").waitFor({ timeout: 20_000 });
    await page.getByLabel("Token").fill(tokens.full);
    await page.keyboard.press("Enter");
    await opened.ready();
    opened.expectClean();
  });

  it("the first key of the keyboard leads past the views to the content", async () => {
    await using opened = await openWith(tokens.observe);
    const { page } = opened;
    await page.getByRole("link", { name: "Skip to the content" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("view");
    opened.expectClean();
  });
});

/** What the views of terminals and of processes offer to start and to end something. */
async function startersOn({ page }: ConsolePage) {
  const starters = /^(New terminal|Split|Start a|Send a signal|End the)/;
  const offered = async (): Promise<string[]> => {
    await page.keyboard.press("Control+k");
    const dialog = page.getByRole("dialog", { name: "Commands" });
    await dialog.getByText("Switch between light and dark").waitFor();
    const titles = await dialog.locator(".palette-title").allInnerTexts();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    return titles.filter((title) => starters.test(title)).sort();
  };
  const views = page.getByRole("navigation", { name: "Views" });
  await views.getByRole("link", { name: "Terminals" }).click();
  await page.getByText("No terminal is open").waitFor();
  const buttons = await page.getByRole("button", { name: starters }).allInnerTexts();
  const commands = (await offered()).filter((title) => title !== "Start a process");
  await views.getByRole("link", { name: "Processes" }).click();
  await page.getByRole("heading", { name: "Processes" }).waitFor();
  return { buttons, commands, processCommands: await offered() };
}

/** A server of pages that are not the console's. */
async function foreignPages(html: string): Promise<AsyncDisposable & { readonly url: string }> {
  const pages = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end(`<!doctype html>${html}`);
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://evil.example:${(pages.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      pages.closeAllConnections();
      await new Promise((resolve) => pages.close(resolve));
    },
  };
}
