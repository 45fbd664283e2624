import { execFileSync } from "node:child_process";
import { appendFile, mkdir, readdir, readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { visibleText } from "../../src/base/visible-text.ts";
import { seriousFindings } from "./accessibility.ts";
import { useConsole } from "./console-scene.ts";
import { directoryOf, FilesPage } from "./files-page.ts";
import { expectOnScreen, screenOf, typeLine } from "./terminal-screen.ts";

/** One red pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);

const scene = useConsole();

it("directories are browsed, and each file is shown by what it holds", async () => {
  const directory = await directoryOf(scene.server, {
    "docs/deep/note.txt": "deep down\n",
    "code.ts": "// Counts.\nexport const limit = 12;\n",
    "picture.png": PNG,
    "program.bin": Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0, 1, 2, 3),
    "old.txt": Buffer.from("caf\xe9 au lait, as it was written long ago\n", "latin1"),
    empty: "",
    ".hidden": "",
  });
  await writeFile(join(directory, "huge.log"), "first line\n");
  await truncate(join(directory, "huge.log"), 2_000_000_000);
  await writeFile(join(directory, "large.txt"), "0123456789abcde\n".repeat(400_000));
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  await files.goto(directory);
  const names = [
    "docs",
    "code.ts",
    "empty",
    "huge.log",
    "large.txt",
    "old.txt",
    "picture.png",
    "program.bin",
  ];
  await files.expectNames(names);
  await page.getByText("8 entries, 1 not shown").waitFor();
  await page.getByRole("button", { name: "Hidden files" }).click();
  await files.expectNames(["docs", ".hidden", ...names.slice(1)]);
  await page.getByRole("button", { name: "Size" }).click();
  await expect.poll(async () => (await files.names()).slice(0, 3)).toEqual(["docs", "huge.log", "large.txt"]);
  await page.getByRole("button", { name: "Name" }).click();

  await files.click("docs");
  await files.click("deep");
  await files.at(join(directory, "docs/deep"));
  await files.click("note.txt");
  await files.expectText("deep down\n");
  await page.getByRole("navigation", { name: "Path" }).getByRole("link", { name: "docs" }).click();
  await files.expectNames(["deep"]);
  await files.back();
  await files.expectText("deep down\n");
  await page.keyboard.press("Escape");

  const show = async (name: string): Promise<void> => files.goto(join(directory, name));
  await show("code.ts");
  // The colours of a language, which is loaded by the name.
  const keyword = page.locator(".cm-line span", { hasText: /^export$/ });
  await keyword.waitFor();
  const colourOf = (text: string) =>
    page.locator(".cm-line", { hasText: text }).evaluate((line) => getComputedStyle(line).color);
  expect(await keyword.evaluate((part) => getComputedStyle(part).color)).not.toBe(await colourOf("export"));
  await show("picture.png");
  await page.getByRole("img", { name: "picture.png" }).waitFor();
  await page.getByText("1 × 1").waitFor();
  await show("program.bin");
  await expect
    .poll(() => page.getByRole("region", { name: "Bytes of the file" }).innerText())
    .toMatch(/7f 45 4c 46 00.*·ELF····/s);
  await show("old.txt");
  await files.expectText("café au lait, as it was written long ago\n");
  await show("empty");
  await files.expectText("");
  await show("huge.log");
  await page.getByText("Not text").waitFor();
  await page.getByText("1.9 GiB").waitFor();
  await show("large.txt");
  await page.getByText("0 B to 256 KiB of 6.1 MiB, 4 %").waitFor();
  opened.expectClean();
});

it("what other programs make, change, replace and delete shows by itself", async () => {
  const directory = await directoryOf(scene.server, { "a.txt": "a", "open.txt": "text" });
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  await files.goto(directory);
  await files.expectNames(["a.txt", "open.txt"]);
  await writeFile(join(directory, "b.txt"), "bb");
  await files.expectNames(["a.txt", "b.txt", "open.txt"]);
  await appendFile(join(directory, "a.txt"), "x".repeat(4999));
  await expect.poll(() => files.row("a.txt").innerText()).toContain("4.9 KiB");
  await rm(join(directory, "b.txt"));
  await files.expectNames(["a.txt", "open.txt"]);

  // A file that is open, and what takes its name.
  await files.click("open.txt");
  await files.expectText("text");
  await rm(join(directory, "open.txt"));
  await page.getByText("was deleted or moved away").waitFor();
  execFileSync("mkfifo", [join(directory, "open.txt")]);
  await page.getByText("open.txt is not a regular file").waitFor();
  await rm(join(directory, "open.txt"));
  await mkdir(join(directory, "open.txt"));
  await files.goto(join(directory, "a.txt"));
  await files.type("mine\n");
  await rm(join(directory, "a.txt"));
  execFileSync("mkfifo", [join(directory, "a.txt")]);
  await page.getByText("now has the file's name").waitFor();
  await page.keyboard.press("Control+S");
  await page.getByText("Rename or delete what is there now").waitFor();
  await rm(join(directory, "a.txt"));
  await page.getByText("was deleted or moved away").waitFor();
  await page.keyboard.press("Control+S");
  await page.getByText("a.txt is saved.").waitFor();
  expect(await readFile(join(directory, "a.txt"), "utf8")).toBe("mine\n");

  await symlink("/nowhere/at/all", join(directory, "broken"));
  await symlink("a.txt", join(directory, "good"));
  await files.goto(join(directory, "broken"));
  await page.getByText("broken is a broken link: it points to /nowhere/at/all").waitFor();
  await page.getByRole("button", { name: "Parent directory" }).click();
  await expect.poll(() => files.row("broken").innerText()).toContain("→ /nowhere/at/all (leads nowhere)");
  await files.click("good");
  await files.expectText("mine\n");

  // A directory that disappears while it is shown.
  await files.goto(join(directory, "open.txt"));
  await page.getByText("This directory is empty").waitFor();
  await rm(join(directory, "open.txt"), { recursive: true });
  await expect.poll(() => page.getByRole("alert").innerText()).toMatch(/moved or deleted/);
  opened.expectClean();
});

it("files are made, renamed, moved, copied and deleted, and nothing is replaced or deleted without a question", async () => {
  const directory = await directoryOf(scene.server, {
    "a.txt": "a",
    "b.txt": "b",
    "full/inner/deep.txt": "deep",
    "full/one": "1",
  });
  await mkdir(join(directory, "empty"));
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, dialog, jobs, opened } = files;
  await files.goto(directory);
  await files.expectNames(["empty", "full", "a.txt", "b.txt"]);
  // A new file opens at once.
  await page.keyboard.press("n");
  await dialog.getByRole("textbox").fill("a.txt");
  await dialog.getByText("This name is taken.").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await files.answer("new.txt", "Create");
  await files.at(join(directory, "new.txt"));
  await files.expectText("");
  await files.back();
  await page.getByRole("button", { name: "New, and more" }).click();
  await page.getByRole("menuitem", { name: "New directory" }).click();
  await files.answer("made", "Create");
  await files.expectNames(["empty", "full", "made", "a.txt", "b.txt", "new.txt"]);

  await files.choose("new.txt", "Rename");
  await files.answer("renamed.txt", "Rename");
  await files.row("renamed.txt").waitFor();
  await files.choose("renamed.txt", "Move…");
  await files.answer("renamed.txt", "Move");
  await page.getByText("renamed.txt was not moved: It is already there").waitFor();
  await files.choose("renamed.txt", "Move…");
  await files.answer("made", "Move");
  await jobs.getByText("Move renamed.txt: done").waitFor();
  expect(await readdir(join(directory, "made"))).toEqual(["renamed.txt"]);
  // Over something that is there: first no, then yes.
  await files.choose("a.txt", "Copy…");
  await files.answer("b.txt", "Copy");
  await dialog.getByText("Replace existing files?").waitFor();
  await files.press("Cancel");
  expect(await readFile(join(directory, "b.txt"), "utf8")).toBe("b");
  await files.choose("a.txt", "Copy…");
  await files.answer("b.txt", "Copy");
  await files.press("Replace");
  await jobs.getByText("Copy a.txt: done").waitFor();
  expect(await readFile(join(directory, "b.txt"), "utf8")).toBe("a");
  await files.choose("full", "Copy…");
  await files.answer("full/inner", "Copy");
  await page.getByText("A directory cannot be put into itself").waitFor();

  await files.choose("b.txt", "Permissions…");
  await files.answer("600", "Set");
  await expect.poll(() => files.row("b.txt").innerText()).toContain("-rw-------");

  await files.choose("full", "Delete");
  await dialog.getByText("with everything inside: 2 files in 1 directory. This cannot be undone.").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await files.press("Cancel");
  expect(await readdir(join(directory, "full"))).toEqual(["inner", "one"]);
  await files.choose("full", "Delete");
  await files.press("Delete");
  await files.expectNames(["empty", "made", "a.txt", "b.txt"]);
  await files.row("empty").click({ position: { x: 4, y: 4 } });
  await files.row("made").click({ position: { x: 4, y: 4 }, modifiers: ["Control"] });
  await page.getByRole("group", { name: "Selected files" }).getByRole("button", { name: "Delete" }).click();
  await dialog.getByText("Delete 2 entries?").waitFor();
  await files.press("Delete");
  await files.expectNames(["a.txt", "b.txt"]);
  expect(await readdir(directory)).toEqual(["a.txt", "b.txt"]);
  opened.expectClean();
});

it("everything works by keys alone", async () => {
  const directory = await directoryOf(scene.server, { "inside/text.txt": "text\n", "other.txt": "" });
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, dialog, opened } = files;
  const { keyboard } = page;
  await files.goto(directory);
  await files.expectNames(["inside", "other.txt"]);
  await keyboard.press("Enter");
  await files.at(join(directory, "inside"));
  await files.expectNames(["text.txt"]);
  await keyboard.press("F2");
  await dialog.waitFor();
  // Without its ending, which stays.
  await keyboard.type("words");
  await keyboard.press("Enter");
  await files.expectNames(["words.txt"]);
  await expect.poll(() => files.row("words.txt").getAttribute("aria-selected")).toBe("true");
  await keyboard.press("Enter");
  await files.expectText("text\n");
  await keyboard.type("more ");
  await keyboard.press("Control+S");
  await page.getByText("words.txt is saved.").waitFor();
  expect(await readFile(join(directory, "inside/words.txt"), "utf8")).toBe("more text\n");
  await keyboard.press("Control+K");
  await keyboard.type("parent directory");
  await keyboard.press("Enter");
  await files.expectNames(["words.txt"]);
  await keyboard.press("Delete");
  await dialog.getByText("Delete words.txt?").waitFor();
  // What is safe has the keyboard.
  await keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await keyboard.press("Delete");
  await dialog.waitFor();
  await dialog.getByRole("button", { name: "Delete" }).focus();
  await keyboard.press("Enter");
  await page.getByText("This directory is empty").waitFor();
  await keyboard.press("Backspace");
  await files.expectNames(["inside", "other.txt"]);
  await keyboard.press("/");
  await keyboard.type("oth");
  await files.expectNames(["other.txt"]);
  await keyboard.press("Escape");
  await keyboard.press("p");
  await keyboard.type(`${directory}/ins`);
  await keyboard.type("ide");
  await keyboard.press("Enter");
  await files.at(join(directory, "inside"));
  await page.getByText("This directory is empty").waitFor();
  await keyboard.press("s");
  await dialog.getByText("Start a process").first().waitFor();
  await expect
    .poll(() => dialog.getByLabel("Working directory").inputValue())
    .toBe(join(directory, "inside"));
  await keyboard.press("Escape");
  await keyboard.press("t");
  const screen = screenOf(page);
  await expectOnScreen(screen, /[$#]$/m);
  await typeLine(page, "pwd");
  await expectOnScreen(screen, join(directory, "inside"));
  opened.expectClean();
});

it("a name is text wherever it is shown, and what turns or hides text in it is made visible", async () => {
  const harm = "window.harmed='yes'";
  const turned = "photo-\u202egnp.exe";
  const names = [
    `<img src=x onerror=${harm}>`,
    "line\nbreak",
    turned,
    "é".repeat(127) + "x",
    "a\u200bb",
    "javascript:alert(1)",
  ];
  const directory = join(await directoryOf(scene.server, {}), `<b>\u202e${"d".repeat(20)}`);
  await mkdir(directory);
  for (const name of names) await writeFile(join(directory, name), "x".repeat(10));
  await using files = await FilesPage.open(scene.browser, scene.server, { downloads: true });
  const { page, dialog, jobs, opened } = files;
  await files.goto(directory);
  const shown = names.map((name) => visibleText(name));
  await expect.poll(async () => (await files.names()).sort()).toEqual(shown.toSorted());
  const check = async (): Promise<void> => {
    const seen = await page.evaluate(() => ({
      harmed: "harmed" in window,
      made: document.querySelectorAll("img:not([src^='blob:']), script:not([src]), [onerror], b").length,
      scrolls: document.documentElement.scrollWidth > innerWidth,
      text: `${document.body.innerText}${document.title}`,
    }));
    expect(seen).toMatchObject({ harmed: false, made: 0, scrolls: false });
    expect(seen.text).not.toMatch(/(?![\t\n])[\p{Cc}\p{Cf}]/u);
  };
  for (const [index, name] of names.entries()) {
    const text = shown[index]!;
    await files.click(text);
    await files.at(join(directory, name));
    await files.expectText("x".repeat(10));
    await page.keyboard.press("Control+S");
    await check();
    await files.back();
    await files.choose(text, "Rename");
    await dialog.waitFor();
    await check();
    await files.press("Cancel");
    await files.choose(text, "Download");
    await jobs.getByText(`Download ${text}: done`).waitFor();
    await files.choose(text, "Delete");
    await dialog.getByText(`Delete ${text}?`).waitFor();
    await check();
    await files.press("Delete");
    await jobs.getByText(`Delete ${text}: done`).waitFor();
    await check();
  }
  await page.getByText("This directory is empty").waitFor();
  opened.expectClean();
});
