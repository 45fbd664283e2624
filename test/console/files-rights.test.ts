import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { FilesPage } from "./files-page.ts";
import { TokenConsole } from "./token-console.ts";

const TOKENS = { reader: "a-token-that-reads-files", writer: "a-token-that-writes-files" };

let users: TokenConsole;
let shared: string;

beforeAll(async () => {
  users = await TokenConsole.open(TOKENS, async (directory) => {
    for (const name of ["one", "two"]) await mkdir(join(directory, name));
    await writeFile(join(directory, "one/text.txt"), "text\n");
    await writeFile(join(directory, "two/other.txt"), "other\n");
    const roots = JSON.stringify([join(directory, "one"), join(directory, "two")]);
    const writer = `preset = "files"\nroots = ${roots}`;
    return { reader: `${writer}\nread_only = true`, writer };
  });
  ({ shared } = users);
});

afterAll(async () => users?.[Symbol.asyncDispose]());

async function openWith(token: string): Promise<FilesPage> {
  const opened = await users.signIn(token);
  await opened.page.getByRole("link", { name: "Files" }).click();
  return new FilesPage(opened, users.server.origin);
}

/** What the page offers to do with a file and its directory. */
async function offered(files: FilesPage): Promise<Record<string, readonly string[]>> {
  const { page } = files;
  const items = page.getByRole("menuitem").locator(".menu-title");
  await files.row("text.txt").click({ button: "right", position: { x: 4, y: 4 } });
  await items.first().waitFor();
  const file = await items.allInnerTexts();
  await page.keyboard.press("Escape");
  await items.first().waitFor({ state: "detached" });
  const buttons = await page
    .locator(".view-actions button")
    .evaluateAll((all) => all.map((one) => one.ariaLabel!));
  await page.getByRole("button", { name: buttons.at(-1)! }).click();
  await items.first().waitFor();
  const directory = await items.allInnerTexts();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+K");
  const dialog = page.getByRole("dialog", { name: "Commands" });
  await dialog.getByText("Switch between light and dark").waitFor();
  const commands = (await dialog.locator(".palette-title").allInnerTexts()).filter((title) =>
    /^(New|Upload|Rename|Move|Copy…|Delete|Permissions|Open a terminal|Start a process)/.test(title),
  );
  await page.keyboard.press("Escape");
  return { file, directory, buttons, commands };
}

it("a token with roots opens in the first, shows the others, and is offered only what it may do", async () => {
  await using writer = await openWith(TOKENS.writer);
  await writer.expectNames(["text.txt"]);
  expect(await offered(writer)).toEqual({
    file: ["Open", "Rename", "Download", "Move…", "Copy…", "Permissions…", "Copy the path", "Delete"],
    directory: ["New file", "New directory", "Copy the path"],
    buttons: ["Hidden files", "Upload", "New, and more"],
    commands: expect.arrayContaining(["New file", "Upload files", "Delete"]) as unknown,
  });
  const { page } = writer;
  await page.getByRole("button", { name: "Directories you can open" }).click();
  await page.getByRole("menuitem", { name: join(shared, "two") }).click();
  await writer.expectNames(["other.txt"]);
  // Directories above the roots are not links, and their labels say which ones can be opened.
  const links = page.getByRole("navigation", { name: "Path" }).getByRole("link");
  expect(await links.allInnerTexts()).toEqual(["two"]);
  await writer.goto("/etc");
  await page.getByRole("button", { name: join(shared, "one") }).click();
  await writer.expectNames(["text.txt"]);
  writer.opened.expectClean();
});

it("a token that only reads is offered nothing that writes", async () => {
  await using reader = await openWith(TOKENS.reader);
  await reader.expectNames(["text.txt"]);
  expect(await offered(reader)).toEqual({
    file: ["Open", "Download", "Copy the path"],
    directory: ["Copy the path"],
    buttons: ["Hidden files", "More"],
    commands: [],
  });
  await reader.click("text.txt");
  await reader.expectText("text\n");
  await reader.page.getByText("read-only").waitFor();
  expect(await reader.page.getByRole("button", { name: "Save" }).count()).toBe(0);
  reader.opened.expectClean();
});
