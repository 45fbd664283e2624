import { appendFile, mkdir, open, readFile, rename, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { seriousFindings } from "./accessibility.ts";
import { useConsole } from "./console-scene.ts";
import { directoryOf, FilesPage } from "./files-page.ts";

const PHONE = { width: 390, height: 844 };

const scene = useConsole();

/** The lines of a page, as far as they are drawn. */
async function firstLine(page: Page): Promise<string> {
  return page.locator(".cm-line").first().innerText();
}

async function lastLine(page: Page): Promise<string> {
  const lines = await page.locator(".cm-line").allInnerTexts();
  return lines.findLast((line) => line.trim() !== "") ?? "";
}

/** A log that is larger than any memory: text, a hole, and text. */
async function makeLargeLog(path: string, size: number): Promise<void> {
  const file = await open(path, "w");
  const line = (index: number): string => `${String(index).padStart(7, "0")} GET /place?name=Oslo\n`;
  const text = Array.from({ length: 40_000 }, (_, index) => line(index)).join("");
  await file.write(text, 0);
  await file.write(`\n${text}`, size - text.length - 1);
  await file.close();
}

it("5 GB are shown in pages from the start, the end and anywhere, in little memory", async () => {
  const directory = await directoryOf(scene.server, {});
  await makeLargeLog(join(directory, "big.log"), 5_000_000_000);
  await makeLargeLog(join(directory, "big.txt"), 5_000_000_000);
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened, dialog } = files;
  // A log opens with its end.
  await files.goto(join(directory, "big.log"));
  await expect.poll(() => lastLine(page)).toBe("0039999 GET /place?name=Oslo");
  await page.getByText("4.7 GiB to 4.7 GiB of 4.7 GiB, 100 %").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect.poll(() => firstLine(page)).toBe("0000000 GET /place?name=Oslo");

  await files.goto(join(directory, "big.txt"));
  await expect.poll(() => firstLine(page)).toBe("0000000 GET /place?name=Oslo");
  await page.getByText("0 B to 256 KiB of 4.7 GiB, 0 %").waitFor();
  // By keys: every page begins where the one before has ended.
  await page.keyboard.press("Alt+PageDown");
  await expect.poll(() => firstLine(page)).toBe("0009039 GET /place?name=Oslo");
  await page.keyboard.press("Alt+PageUp");
  await expect.poll(() => lastLine(page)).toBe("0009038 GET /place?name=Oslo");
  await page.keyboard.press("Alt+G");
  await dialog.getByRole("textbox").fill("nowhere");
  await dialog.getByText("Enter a number, or a percentage.").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await files.answer("600000", "Go");
  await expect.poll(() => firstLine(page)).toBe("0020689 GET /place?name=Oslo");
  await page.keyboard.press("Alt+G");
  await files.answer("50%", "Go");
  await page.getByText("2.3 GiB to 2.3 GiB of 4.7 GiB, 50 %").waitFor();
  await page.keyboard.press("Alt+End");
  await expect.poll(() => lastLine(page)).toBe("0039999 GET /place?name=Oslo");
  await page.keyboard.press("Alt+Home");
  await expect.poll(() => firstLine(page)).toBe("0000000 GET /place?name=Oslo");
  // Nothing can be typed into it.
  await page.keyboard.type("x");
  expect(await firstLine(page)).toBe("0000000 GET /place?name=Oslo");
  await page.setViewportSize(PHONE);
  expect(await seriousFindings(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(PHONE.width);
  opened.expectClean();
});

it("what is appended to a file is followed until one scrolls up, also when the log is rotated", async () => {
  const lines = Array.from({ length: 300 }, (_, index) => `line ${index}`).join("\n");
  const directory = await directoryOf(scene.server, { "server.log": `${lines}\n` });
  const path = join(directory, "server.log");
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  await files.goto(path);
  await page.getByRole("button", { name: "Follow" }).click();
  const follow = page.getByRole("button", { name: "Follow", pressed: true });
  await follow.waitFor();
  await expect.poll(() => lastLine(page)).toBe("line 299");
  await appendFile(path, "line 300\n");
  await expect.poll(() => lastLine(page)).toBe("line 300");
  // Another file takes the name, as with logrotate.
  await rename(path, `${path}.1`);
  await page.getByText("The file was deleted or moved away").waitFor();
  await writeFile(path, "a new log\n");
  await expect.poll(() => lastLine(page)).toBe("a new log");
  await appendFile(path, `${lines}\n`);
  await expect.poll(() => lastLine(page)).toBe("line 299");
  // The editor draws the lines first, and scrolls there with the next frame.
  await expect.poll(() => page.locator(".cm-scroller").evaluate((box) => box.scrollTop)).toBeGreaterThan(0);
  await page.mouse.move(800, 500);
  await page.mouse.wheel(0, -400);
  await page.getByRole("button", { name: "Follow", pressed: false }).waitFor();
  await appendFile(path, "not shown\n");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Save" }).waitFor();
  // The whole file, with the lines that came meanwhile.
  await page.getByText("2.5 KiB").waitFor();
  await page.locator(".cm-content:focus").waitFor();
  await page.keyboard.press("Control+End");
  await expect.poll(() => lastLine(page)).toBe("not shown");
  opened.expectClean();
});

it("text in other encodings is shown, and saved with the same bytes or not at all", async () => {
  const latin = Buffer.from("caf\xe9 au lait\r\nM\xfcnchen \x80 5\r\n", "latin1");
  const japanese = Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x0a]);
  const directory = await directoryOf(scene.server, {
    "latin.txt": latin,
    "japanese.txt": japanese,
    "wide.txt": Buffer.from("\ufeffGrüße\n", "utf16le"),
    "zeros.txt": "before\0after\n",
  });
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  const encoding = page.getByRole("combobox", { name: "Encoding" });
  await files.goto(join(directory, "latin.txt"));
  await files.expectText("café au lait\nMünchen € 5\n");
  expect(await encoding.inputValue()).toBe("windows-1252");
  await files.type("café\n€ – ß\n");
  expect(await encoding.isDisabled()).toBe(true);
  await page.keyboard.press("Control+S");
  await page.getByText("latin.txt is saved.").waitFor();
  expect(await readFile(join(directory, "latin.txt"), "latin1")).toBe("caf\xe9\r\n\x80 \x96 \xdf\r\n");
  // A character that the encoding lacks is not replaced by another one.
  await files.type("日本\n");
  await page.keyboard.press("Control+S");
  await page
    .getByText("latin.txt was not saved: The page cannot write “日” in windows-1252; remove it")
    .waitFor();
  expect(await readFile(join(directory, "latin.txt"), "latin1")).toBe("caf\xe9\r\n\x80 \x96 \xdf\r\n");
  await files.type("plain\n");
  await page.keyboard.press("Control+S");
  await expect.poll(() => readFile(join(directory, "latin.txt"), "latin1")).toBe("plain\r\n");
  // The page knows it, too, and does not ask whether to leave.
  await expect.poll(() => encoding.isDisabled()).toBe(false);
  expect(await encoding.inputValue()).toBe("windows-1252");

  await files.goto(join(directory, "japanese.txt"));
  await files.expectText("“ú–{\n");
  await encoding.selectOption("shift_jis");
  await files.expectText("日本\n");
  await page.getByText("The page cannot write all of this text in Japanese (Shift JIS)").waitFor();
  await page.getByText("read-only").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await files.goto(join(directory, "wide.txt"));
  await files.type("Größe\n");
  await page.keyboard.press("Control+S");
  await page.getByText("wide.txt is saved.").waitFor();
  expect(await readFile(join(directory, "wide.txt"), "utf16le")).toBe("\ufeffGröße\n");
  await files.goto(join(directory, "zeros.txt"));
  await page.getByText("Not text").waitFor();
  await page.getByRole("button", { name: "Show as text" }).click();
  await expect.poll(() => firstLine(page)).toContain("after");
  expect(await readFile(join(directory, "japanese.txt"))).toEqual(japanese);
  opened.expectClean();
});

/** A host that a file would like to be loaded from. */
class OtherHost implements AsyncDisposable {
  readonly requests: string[] = [];
  readonly #server = createServer((request, response) => {
    this.requests.push(request.url ?? "");
    response.end();
  });

  static async open(): Promise<OtherHost> {
    const host = new OtherHost();
    host.#server.listen(0, "127.0.0.1");
    await once(host.#server, "listening");
    return host;
  }

  get outside(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
  }
}

/** Anything that a hostile file could make a page do. */
const HARM = "window.harmed = true; fetch('/harmed')";

it("pictures are only ever pictures: the scripts of an SVG do not run, and it loads nothing", async () => {
  await using elsewhere = await OtherHost.open();
  const { outside, requests } = elsewhere;
  const directory = await directoryOf(scene.server, {
    "evil.svg": `<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20" onload="${HARM}">
      <script>${HARM}</script><image href="${outside}/image.png" width="9" height="9"/>
      <style>@import url(${outside}/style.css);</style>
      <foreignObject width="9" height="9"><iframe xmlns="http://www.w3.org/1999/xhtml" src="${outside}/frame"/></foreignObject>
    </svg>`,
    "broken.png": "not a picture",
  });
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  await files.goto(join(directory, "evil.svg"));
  const picture = page.getByRole("img", { name: "evil.svg" });
  await page.getByText("30 × 20").waitFor();
  expect(await picture.getAttribute("src")).toMatch(/^blob:/);
  await page.getByRole("button", { name: "Source" }).click();
  await expect.poll(() => firstLine(page)).toContain("<svg xmlns");
  await page.getByRole("button", { name: "Picture" }).click();
  await page.getByText("30 × 20").waitFor();
  expect(await page.evaluate(() => "harmed" in window)).toBe(false);
  await files.goto(join(directory, "broken.png"));
  await page.getByText("This image cannot be displayed.").waitFor();
  expect(requests).toEqual([]);
  opened.expectClean();
});

it("Markdown is previewed: its HTML is text, its links lead to the web and to files, and it loads nothing", async () => {
  await using elsewhere = await OtherHost.open();
  const { outside, requests } = elsewhere;
  const text = `# Weather & more

Some *emphasis*, **strength**, ~~deletion~~ and \`code\`.
[Other](docs/other.md) [Web](https://example.com/a) [Top](#weather--more)
[Harm](javascript:window.harmed=1) [Data](data:text/html,x) [Evil](//evil.example/x) www.example.com

<script>${HARM}</script> <img src="${outside}/raw.png" onerror="${HARM}"> <b>bold</b>

![Remote](${outside}/tracker.png) ![Local](pictures/dot.svg)

- [x] done
- [ ] open

| Place | Degrees |
|---|---|
| Oslo | 21 |

\`\`\`sh
npm start
\`\`\`

> a photo: photo-\u202egnp.exe
`;
  const directory = await directoryOf(scene.server, {
    "README.md": text,
    "docs/other.md": "# Other\n",
    "pictures/dot.svg": `<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"><script>${HARM}</script></svg>`,
  });
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  await files.goto(join(directory, "README.md"));
  await files.editor.waitFor();
  await page.keyboard.press("Alt+P");
  const preview = page.getByRole("article", { name: "Preview" });
  await preview.getByRole("heading", { name: "Weather & more" }).waitFor();
  await preview.getByRole("img", { name: "Local" }).waitFor();
  expect(await preview.getByRole("img", { name: "Local" }).getAttribute("src")).toMatch(/^blob:/);
  expect(await preview.innerText()).toContain(`<b>bold</b>`);
  expect(await preview.innerText()).toContain(`photo-\\u202egnp.exe`);
  expect(await preview.locator("b, script, iframe, [onerror], [style]").count()).toBe(0);
  const links = await preview
    .getByRole("link")
    .evaluateAll((all) => all.map((link) => `${link.textContent} ${link.getAttribute("href")}`));
  expect(links).toEqual([
    `Other ${files.address(join(directory, "docs/other.md"))}`,
    "Web https://example.com/a",
    "Top #heading-weather--more",
    "www.example.com http://www.example.com/",
    `Remote ${outside}/tracker.png`,
  ]);
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    expect(await seriousFindings(page)).toEqual([]);
  }
  // It shows what is typed, not what is saved.
  await page.keyboard.press("Alt+P");
  await files.type("# Changed\n");
  await page.keyboard.press("Alt+P");
  await preview.getByRole("heading", { name: "Changed" }).waitFor();
  await page.keyboard.press("Alt+P");
  // The very next key is for the editor.
  await page.keyboard.press("Control+Z");
  await page.keyboard.press("Alt+P");
  await preview.getByRole("link", { name: "Top" }).click();
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("heading-weather--more");
  await preview.getByRole("link", { name: "Other" }).click();
  await files.at(join(directory, "docs/other.md"));
  expect(await page.evaluate(() => "harmed" in window)).toBe(false);
  expect(requests).toEqual([]);
  opened.expectClean();
});

it("a tree stands beside files; it is used by keys as other trees, and not there on a phone", async () => {
  const directory = await directoryOf(scene.server, {
    "src/deep/inner.ts": "// inner\n",
    "src/main.ts": "// main\n",
    "docs/guide.md": "guide\n",
    "a.txt": "a\n",
  });
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  const { keyboard } = page;
  const tree = page.getByRole("tree");
  const item = (name: string) => tree.getByRole("treeitem", { name, exact: true });
  const focused = async (): Promise<string | undefined> =>
    page.evaluate(() => {
      const id = document.activeElement?.getAttribute("aria-activedescendant");
      return id === null || id === undefined ? undefined : document.getElementById(id)?.innerText;
    });
  await files.goto(join(directory, "src/main.ts"));
  await files.expectText("// main\n");
  // What is open is in it, with the way there.
  await expect.poll(() => item("main.ts").getAttribute("aria-selected")).toBe("true");
  expect(await item("src").getAttribute("aria-expanded")).toBe("true");
  expect(await item("deep").getAttribute("aria-expanded")).toBe("false");
  expect(await item("inner.ts").count()).toBe(0);
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    expect(await seriousFindings(page)).toEqual([]);
  }
  await keyboard.press("Alt+T");
  await expect.poll(focused).toBe("main.ts");
  await keyboard.press("ArrowUp");
  await keyboard.press("ArrowRight");
  await expect.poll(() => item("inner.ts").count()).toBe(1);
  await keyboard.press("ArrowRight");
  await expect.poll(focused).toBe("inner.ts");
  await keyboard.press("Enter");
  await files.at(join(directory, "src/deep/inner.ts"));
  await files.expectText("// inner\n");
  await expect.poll(() => item("inner.ts").getAttribute("aria-selected")).toBe("true");
  // What other programs do shows by itself.
  await mkdir(join(directory, "src/new"));
  await item("new").waitFor();
  // The very next key is for the tree.
  const roleAfterKey = await page.evaluate(() => {
    const press = new KeyboardEvent("keydown", { key: "t", altKey: true, bubbles: true });
    document.activeElement!.dispatchEvent(press);
    return document.activeElement!.role;
  });
  expect(roleAfterKey).toBe("tree");
  await keyboard.press("ArrowLeft");
  await expect.poll(focused).toBe("deep");
  await keyboard.press("ArrowLeft");
  await expect.poll(() => item("inner.ts").count()).toBe(0);
  // A letter goes to a name, and is not a command of the page.
  await keyboard.press("n");
  await expect.poll(focused).toBe("new");
  expect(await files.dialog.count()).toBe(0);
  await item("a.txt").count();
  await item("deep").click();
  await item("inner.ts").waitFor();
  await item("main.ts").click();
  await files.expectText("// main\n");
  // It asks before changes are left.
  await files.type("changed\n");
  await item("inner.ts").click();
  await files.dialog.getByText("Leave without saving?").waitFor();
  await files.press("Leave");
  await files.expectText("// inner\n");
  await page.getByRole("button", { name: "Tree" }).click();
  await tree.waitFor({ state: "detached" });
  await keyboard.press("Alt+T");
  await expect.poll(focused).toBe("inner.ts");
  await keyboard.press("Home");
  await expect.poll(focused).toBe(await tree.getByRole("treeitem").first().innerText());
  await page.setViewportSize(PHONE);
  await tree.waitFor({ state: "detached" });
  expect(await page.getByRole("button", { name: "Tree" }).count()).toBe(0);
  opened.expectClean();
});
