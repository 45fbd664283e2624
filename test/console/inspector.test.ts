import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { methods } from "../../src/protocol/index.ts";
import { seriousFindings } from "./accessibility.ts";
import type { ConsolePage, PageOptions } from "./console-page.ts";
import { useConsole } from "./console-scene.ts";
import { collectGarbage } from "./page-work.ts";

const MARKUP = `<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>\u202eturned`;

const scene = useConsole();
let upstream: Server;
/** Responses that never end, until the test ends them. */
let closedResponses = 0;

beforeAll(async () => {
  upstream = createServer((request, response) => {
    if (request.url === "/endless") response.once("close", () => closedResponses++);
    if (request.url === "/moved") response.writeHead(302, { location: "/" }).end();
    else if (request.url === "/endless") response.writeHead(200).write(`${MARKUP} begins\n`);
    else if (request.url === "/bytes") response.end(Buffer.from([0, 255, 1]));
    else request.pipe(response.writeHead(201, { "x-method": request.method, "content-type": "text/plain" }));
  });
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
});

afterAll(async () => {
  upstream?.close();
  upstream?.closeAllConnections();
});

async function openInspector(method: string, options: PageOptions = {}): Promise<ConsolePage> {
  const opened = await scene.open(options);
  await opened.page.goto(`${scene.server.origin}/i/${method}`);
  await opened.ready();
  await (method === "" ? methodList(opened.page) : heading(opened.page, method)).waitFor();
  return opened;
}

function methodList(page: Page) {
  return page.getByRole("navigation", { name: "Methods" });
}

function heading(page: Page, method: string) {
  return page.getByRole("heading", { level: 2, name: method, exact: true });
}

function answer(page: Page) {
  return page.getByRole("region", { name: "Answer" });
}

it("every method of the protocol has a form that opens without an error", async () => {
  await using opened = await openInspector("");
  const { page } = opened;
  const names = await methodList(page).getByRole("link").allInnerTexts();
  expect(names.toSorted()).toEqual(Object.keys(methods).toSorted());
  const forms = await page.evaluate(async () => {
    const forms: { name: string; path: string; fields: number; problems: number }[] = [];
    for (const link of document.querySelectorAll<HTMLAnchorElement>(".insp-groups a")) {
      link.click();
      const name = link.innerText;
      while (document.querySelector(".insp-head h2")?.textContent !== name)
        await new Promise((resolve) => requestAnimationFrame(resolve));
      // HTTP requests have another form as well.
      [...document.querySelectorAll("button")].find(({ innerText }) => innerText === "All fields")?.click();
      await new Promise((resolve) => setTimeout(resolve));
      // Every optional field as well.
      for (const optional of document.querySelectorAll<HTMLElement>(".insp-absent button")) optional.click();
      await new Promise((resolve) => setTimeout(resolve));
      forms.push({
        name,
        path: location.pathname,
        fields: document.querySelectorAll(".insp-form > .insp-members > .insp-field").length,
        problems: document.querySelectorAll(".insp-form .hint.bad").length,
      });
    }
    return forms;
  });
  expect(forms).toEqual(
    names.map((name) => ({ name, path: `/i/${name}`, fields: memberCount(name), problems: 0 })),
  );
  opened.expectClean();
});

function memberCount(name: string): number {
  const { params } = methods[name as keyof typeof methods];
  return "shape" in params ? Object.keys(params.shape).length : 0;
}

it("a method is found by typing, called by keys, and answers; an error has its code, its words and a remedy", async () => {
  await writeFile(join(scene.server.workDirectory, "note.txt"), "a `note` with ${text}\n");
  await using opened = await openInspector("");
  const { page } = opened;
  await page.keyboard.press("/");
  await page.keyboard.type("readfile");
  await page.keyboard.press("Enter");
  await heading(page, "fs/readFile").waitFor();
  const path = page.getByLabel("path", { exact: true });
  await path.fill(`file://${scene.server.workDirectory}/note.txt`);
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("answered").waitFor();
  expect(await answer(page).getByRole("region", { name: "Result" }).innerText()).toContain(
    'is "a `note` with ${text}\\n"',
  );
  await path.fill(`file://${scene.server.workDirectory}/missing`);
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("NOT_FOUND (-32004)").waitFor();
  await expect.poll(() => answer(page).innerText()).toContain("Check the path or the id.");
  opened.expectClean();
});

it("the form and its JSON say the same, and what is wrong is said at its field", async () => {
  await using opened = await openInspector("process/read");
  const { page } = opened;
  const json = page.getByLabel("JSON", { exact: true });
  await page.getByLabel("processId", { exact: true }).fill('a "quoted" one');
  expect(JSON.parse(await json.inputValue())).toMatchObject({ processId: 'a "quoted" one' });
  await page.getByRole("button", { name: "waitMs", exact: true }).click();
  const wait = page.getByLabel("waitMs", { exact: true });
  await wait.fill("soon");
  await page.getByText("Must be a whole number.").waitFor();
  expect(await wait.getAttribute("aria-invalid")).toBe("true");
  await json.fill('{ "processId": "from JSON", "waitMs": 250 }');
  expect(await wait.inputValue()).toBe("250");
  expect(await page.getByLabel("processId", { exact: true }).inputValue()).toBe("from JSON");
  await json.fill('{ "processId": ');
  await page.locator("#insp-json-fault").waitFor();
  expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
  await json.fill('{ "processId": "p" }');
  await page.getByRole("button", { name: "Send" }).click();
  await answer(page).getByText("unknown process", { exact: false }).first().waitFor();
  opened.expectClean();
});

it("a request that is not answered is stopped", async () => {
  await using host = await scene.server.connect();
  await host.start(["sleep", "3600"], { keep: { name: "sleeper" } });
  await using opened = await openInspector("process/attach");
  const { page } = opened;
  await page.getByLabel("JSON", { exact: true }).fill('{ "name": "sleeper" }');
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("answered").waitFor();
  await page.getByRole("link", { name: "process/wait" }).click();
  await heading(page, "process/wait").waitFor();
  await page.getByLabel("JSON", { exact: true }).fill('{ "processId": "sleeper" }');
  // The second click meets Stop, which has taken the place of Send.
  await page.getByRole("button", { name: "Send" }).dblclick();
  await answer(page).getByText("waiting").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await answer(page).getByText("You stopped waiting for the answer").waitFor();
  opened.expectClean();
});

it("text in answers is shown as text", async () => {
  await writeFile(join(scene.server.workDirectory, MARKUP.replaceAll("/", "|")), "");
  await using opened = await openInspector("fs/readDirectory");
  const { page } = opened;
  await page.getByLabel("path", { exact: true }).fill(`file://${scene.server.workDirectory}`);
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("onerror").waitFor();
  expect(await answer(page).innerText()).toContain("\\u202eturned");
  expect(await page.evaluate(() => ["harmed" in window, document.querySelector("img") === null])).toEqual([
    false,
    true,
  ]);
  opened.expectClean();
});

it("messages are shown as they pass, with their answers; one is opened in the form and sent again", async () => {
  await using opened = await openInspector("fs/getMetadata");
  const { page } = opened;
  const path = page.getByLabel("path", { exact: true });
  await path.fill(`file://${scene.server.workDirectory}`);
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("answered").waitFor();
  await page.getByRole("button", { name: "Empty the form" }).click();
  await page.getByRole("link", { name: "Messages" }).click();
  const list = page.getByRole("listbox", { name: "Messages" });
  await page.getByLabel("Filter by method").fill("getmeta");
  const rows = list.getByRole("option");
  await expect.poll(() => rows.count()).toBe(2);
  const [request, reply] = await rows.allInnerTexts();
  expect(request).toMatch(/sent\s*fs\/getMetadata\s*request\s*\d+\s*[\d.]+ m?s\s*\d+ B/);
  expect(reply).toMatch(/received\s*fs\/getMetadata\s*answer\s*\d+\s*[\d.]+ m?s\s*\d+ B/);
  await page.getByLabel("Direction").selectOption("received");
  await expect.poll(() => rows.count()).toBe(1);
  await rows.first().click();
  await page.getByRole("button", { name: "Show its request" }).click();
  const details = page.getByRole("region", { name: "Message", exact: true });
  await expect.poll(() => details.innerText()).toContain(`"path": "file://${scene.server.workDirectory}"`);
  await page.getByRole("button", { name: "Open in the form" }).click();
  await heading(page, "fs/getMetadata").waitFor();
  expect(await path.inputValue()).toBe(`file://${scene.server.workDirectory}`);
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("answered").waitFor();
  opened.expectClean();
});

it("messages are kept from the first look on, also if the next view is chosen before the page has drawn it", async () => {
  await using opened = await scene.open();
  const { page } = opened;
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const go = (view: string): void => document.querySelector<HTMLElement>(`a[href="${view}"]`)!.click();
        const observer = new MutationObserver(() => {
          if (document.querySelector("h1")?.textContent !== "Inspector") return;
          observer.disconnect();
          go("/p");
          resolve();
        });
        observer.observe(document.body, { childList: true, subtree: true });
        go("/i");
      }),
  );
  await page.getByRole("heading", { name: "Processes" }).waitFor();
  // A row for a process that starts now proves that the view has asked for the list since the first look.
  await using host = await scene.server.connect();
  const process = await host.start(["sleep", "600"], { keep: { name: "started-later" } });
  await page.getByText("started-later").first().waitFor();
  await page.getByRole("link", { name: "Inspector" }).click();
  await page.getByRole("link", { name: "Messages" }).click();
  await page.getByText("process/list").first().waitFor();
  await process.terminate();
  opened.expectClean();
});

it("paused messages pass unseen, and cleared ones are gone", async () => {
  await using opened = await openInspector("server/status");
  const { page } = opened;
  const send = async (): Promise<void> => {
    await page.getByRole("link", { name: "Call" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await answer(page).getByText("answered").waitFor();
    await page.getByRole("link", { name: "Messages" }).click();
  };
  const rows = page.getByRole("listbox", { name: "Messages" }).getByRole("option");
  await send();
  await page.getByLabel("Filter by method").fill("server/status");
  await expect.poll(() => rows.count()).toBe(2);
  await page.getByRole("button", { name: "Pause" }).click();
  await send();
  await page.getByLabel("Filter by method").fill("server/status");
  await expect.poll(() => rows.count()).toBe(2);
  await page.getByRole("button", { name: "Clear the messages" }).click();
  await page.getByText("Messages are not recorded until you resume.").waitFor();
  await page.getByRole("button", { name: "Paused" }).click();
  await send();
  await expect.poll(() => rows.count()).toBeGreaterThanOrEqual(2);
  opened.expectClean();
});

it("an HTTP request is made from a form of its own; redirects are followed or shown, a body streams until it is stopped", async () => {
  await using opened = await openInspector("http/request");
  const { page } = opened;
  const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const request = async (path: string): Promise<void> => {
    await page.getByLabel("URL").fill(`${origin}${path}`);
    await page.keyboard.press("Control+Enter");
  };
  await page.keyboard.press("Control+Enter");
  await page.getByText("Enter a full URL").waitFor();
  await page.getByLabel("Method", { exact: true }).selectOption("POST");
  await page.getByRole("button", { name: "Add a header" }).click();
  await page.getByLabel("Name of a header").fill("x-sent");
  await page.getByLabel("Value of a header").fill("yes");
  await page.getByLabel("Body").fill(MARKUP);
  await request("/");
  await answer(page).getByText("201", { exact: true }).waitFor();
  expect(await answer(page).innerText()).toContain("x-method\nPOST");
  await expect.poll(() => answer(page).innerText()).toContain('<img src=x onerror="window.harmed=1">');
  await page.getByLabel("Method", { exact: true }).selectOption("GET");
  await request("/moved");
  await answer(page).getByText("201", { exact: true }).waitFor();
  await page.getByLabel("Redirects").selectOption("manual");
  await request("/moved");
  await answer(page).getByText("302", { exact: true }).waitFor();
  await request("/bytes");
  await answer(page).getByText("3 B that are not text").waitFor();
  const before = closedResponses;
  await request("/endless");
  await answer(page).getByText("begins").waitFor();
  // A collection must not take a body for abandoned that is being read.
  await collectGarbage(page);
  await page.getByRole("button", { name: "Stop" }).click();
  await answer(page).getByText("stopped").waitFor();
  await expect.poll(() => closedResponses).toBe(before + 1);
  await page.getByLabel("URL").fill("http://127.0.0.1:1/");
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("that the server's machine can reach it").waitFor();
  expect(await page.evaluate(() => "harmed" in window)).toBe(false);
  opened.expectClean();
});

it("a copied request is copied as a program", async () => {
  await using opened = await openInspector("fs/readFile", {
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const { page } = opened;
  await page.getByLabel("path", { exact: true }).fill('/`${x}`"');
  await page.getByRole("button", { name: "Copy the request" }).click();
  await page.getByRole("menuitem", { name: "Copy as TypeScript" }).click();
  await page.getByText("The code was copied.").waitFor();
  const code = await page.evaluate(() => navigator.clipboard.readText());
  expect(code).toContain(`await connect("ws://127.0.0.1:${scene.server.port}/")`);
  expect(code).toContain('path: "/`${x}`\\""');
  opened.expectClean();
});

it("an answer of megabytes is cut, and downloaded in full", async () => {
  await writeFile(join(scene.server.workDirectory, "large"), "l".repeat(3_000_000));
  await using opened = await openInspector("fs/readFile");
  const { page } = opened;
  await page.getByLabel("path", { exact: true }).fill(join(scene.server.workDirectory, "large"));
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("3.8 MiB in all").waitFor();
  const waiting = page.waitForEvent("download");
  await answer(page).getByRole("button", { name: "Download the answer" }).click();
  const stream = await (await waiting).createReadStream();
  const { dataBase64 } = (await new Response(stream as unknown as BodyInit).json()) as { dataBase64: string };
  expect(Buffer.from(dataBase64, "base64").toString()).toBe("l".repeat(3_000_000));
});

it("a request whose connection is cut says what is known, and the form continues", async () => {
  await using opened = await openInspector("process/start", { losesConnections: true });
  const { page } = opened;
  await page
    .getByLabel("JSON", { exact: true })
    .fill(JSON.stringify({ processId: "s", argv: ["sleep", "3600"], cwd: "file:///", env: {}, tty: false }));
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("answered").waitFor();
  await page.getByRole("link", { name: "process/wait" }).click();
  await heading(page, "process/wait").waitFor();
  await page.getByLabel("JSON", { exact: true }).fill('{ "processId": "s" }');
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("waiting").waitFor();
  await scene.server.stop("SIGKILL");
  await scene.server.start();
  // Until then, the page may not know that its connection is gone.
  await answer(page).getByText("The page reconnects by itself.").waitFor();
  await opened.ready();
  await heading(page, "process/wait").waitFor();
  await answer(page).getByText("The page reconnects by itself.").waitFor();
  await page.getByRole("link", { name: "server/status" }).click();
  await heading(page, "server/status").waitFor();
  await page.keyboard.press("Control+Enter");
  await answer(page).getByText("answered").waitFor();
  // The handshake has passed as well; its session id must be hidden.
  await page.getByRole("link", { name: "Messages" }).click();
  await page.getByLabel("Filter by method").fill("initialize");
  await page.getByRole("option", { name: "answer" }).first().click();
  const details = page.getByRole("region", { name: "Message", exact: true });
  await details.getByText('"sessionId": "(hidden)"', { exact: false }).first().waitFor();
});

it.each(["light", "dark"] as const)(
  "with an answer and with a message open, %s: axe finds nothing serious, and nothing is wider than the window",
  async (colorScheme) => {
    await using opened = await openInspector("process/start", { colorScheme });
    const { page } = opened;
    await page.getByRole("button", { name: "sandbox", exact: true }).click();
    await page.keyboard.press("Control+Enter");
    await answer(page).getByRole("alert").waitFor();
    const findings: string[] = [];
    for (const part of ["Call", "Messages"]) {
      await page.getByRole("link", { name: part, exact: true }).click();
      if (part === "Messages") {
        await page.getByRole("listbox", { name: "Messages" }).getByRole("option").first().click();
        await page.getByRole("region", { name: "Message", exact: true }).waitFor();
      }
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 844 });
        findings.push(...(await seriousFindings(page)).map((finding) => `${part} ${width}: ${finding}`));
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      }
      await page.setViewportSize({ width: 1280, height: 844 });
    }
    expect(findings).toEqual([]);
    opened.expectClean();
  },
);
