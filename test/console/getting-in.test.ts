import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
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
      .toMatch(/used already.*open --print/s);
    second.expectClean();
  });

  it("a new link can be pasted; what is no link of this server is refused with a remedy", async () => {
    await using opened = await ConsolePage.open(browser, server.origin, { refused: true });
    const { page } = opened;
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

describe("with tokens", () => {
  let server: ConsoleServer;
  const tokens = { observe: "a-token-to-look-on", full: "a-token-for-everything" };

  beforeAll(async () => {
    const table = Object.entries(tokens).map(([preset, token]) => {
      const sha256 = createHash("sha256").update(token).digest("hex");
      return `[[token]]\nname = "${preset}"\nsha256 = "${sha256}"\npreset = "${preset}"\n`;
    });
    const path = join("/var/tmp", `exec-server-console-tokens-${process.pid}.toml`);
    await writeFile(path, table.join("\n"), { mode: 0o600 });
    server = await ConsoleServer.start({ args: ["--ws-auth", "token-table", "--ws-token-table", path] });
  });

  afterAll(() => server?.[Symbol.asyncDispose]());

  it("the page asks for one, refuses a wrong one with a remedy, and shows what the right one may do", async () => {
    await using opened = await ConsolePage.open(browser, server.origin, {
      refused: true,
      losesConnections: true,
    });
    const { page } = opened;
    await page.getByLabel("Token").fill("wrong");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("alert").innerText()).toMatch(/does not take this token/);
    await page.getByLabel("Token").fill(tokens.full);
    await page.keyboard.press("Enter");
    await opened.ready();
    opened.expectClean();
  });
});

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
