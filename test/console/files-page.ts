import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { ConsolePage, type PageOptions } from "./console-page.ts";
import type { ConsoleServer } from "./console-server.ts";

/** A separate directory with files, where the server works. */
export async function directoryOf(
  server: ConsoleServer,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<string> {
  const path = await mkdtemp(join(server.workDirectory, "case-"));
  for (const [name, contents] of Object.entries(files)) {
    await mkdir(join(path, name, ".."), { recursive: true });
    await writeFile(join(path, name), contents);
  }
  return path;
}

/** A tab that shows files, and what a person does there. */
export class FilesPage implements AsyncDisposable {
  readonly opened: ConsolePage;
  readonly #origin: string;

  /** `origin`: through something that stands before the server. */
  static async open(
    browser: Browser,
    server: ConsoleServer,
    { origin = server.origin, ...options }: PageOptions & { readonly origin?: string } = {},
  ): Promise<FilesPage> {
    const [, fragment] = (await server.newLink()).split("#");
    const opened = await ConsolePage.open(browser, `${origin}/#${fragment}`, options);
    await opened.ready();
    return new FilesPage(opened, origin);
  }

  constructor(opened: ConsolePage, origin: string) {
    this.opened = opened;
    this.#origin = origin;
  }

  get page(): Page {
    return this.opened.page;
  }

  get list(): Locator {
    return this.page.getByRole("grid", { name: "Files" });
  }

  get jobs(): Locator {
    return this.page.getByRole("list", { name: "Transfers" });
  }

  get dialog(): Locator {
    return this.page.getByRole("dialog");
  }

  get editor(): Locator {
    return this.page.getByRole("textbox", { name: /^Text of / });
  }

  /** Reloads the page, at a file or directory. */
  async goto(path: string): Promise<void> {
    await this.page.goto(this.#origin + this.address(path));
    await this.opened.ready();
  }

  address(path: string): string {
    return `/f${path.split("/").map(encodeURIComponent).join("/")}`;
  }

  /** Waits until the page is at a file or directory. */
  async at(path: string): Promise<void> {
    await expect.poll(() => new URL(this.page.url()).pathname).toBe(this.address(path));
  }

  row(name: string): Locator {
    return this.list.getByRole("row").filter({ has: this.page.getByRole("link", { name, exact: true }) });
  }

  /** Opens what a row has, by its name. */
  async click(name: string): Promise<void> {
    await this.row(name).getByRole("link").click();
  }

  /** Chooses something from the menu of a row. */
  async choose(name: string, action: string): Promise<void> {
    await this.row(name).click({ button: "right", position: { x: 4, y: 4 } });
    await this.page.getByRole("menuitem", { name: action }).click();
  }

  /** The names that are listed, in their order. */
  async names(): Promise<string[]> {
    return this.list.locator(".files-rows .files-name > a").allInnerTexts();
  }

  async expectNames(names: readonly string[]): Promise<void> {
    await expect.poll(() => this.names()).toEqual(names);
  }

  /** The answer to the question that is open. */
  async answer(text: string, action: string): Promise<void> {
    await this.dialog.getByRole("textbox").fill(text);
    await this.press(action);
  }

  /** Presses a button of the dialog that is open, and waits until it is closed. Another one may open then. */
  async press(action: string): Promise<void> {
    const shown = await this.dialog.elementHandle();
    await this.dialog.getByRole("button", { name: action, exact: true }).click();
    await shown.waitForElementState("hidden");
  }

  /** As the button of the browser. */
  async back(): Promise<void> {
    await this.page.evaluate(() => history.back());
  }

  /** Replaces everything in the editor. */
  async type(text: string): Promise<void> {
    await this.editor.click();
    await this.page.keyboard.press("Control+A");
    await this.page.keyboard.insertText(text);
  }

  async expectText(text: string): Promise<void> {
    await expect.poll(() => this.editor.locator(".cm-line").allTextContents()).toEqual(text.split("\n"));
  }

  /** Drags files or directories of this machine from the desktop. */
  async drop(paths: readonly string[]): Promise<void> {
    const box = (await this.page.locator(".files-drop").boundingBox())!;
    const session = await this.page.context().newCDPSession(this.page);
    const data = { items: [], files: [...paths], dragOperationsMask: 1 };
    const place = { x: box.x + box.width / 2, y: box.y + box.height - 20, data };
    for (const type of ["dragEnter", "dragOver", "drop"] as const)
      await session.send("Input.dispatchDragEvent", { type, ...place });
    await session.detach();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.opened[Symbol.asyncDispose]();
  }
}
