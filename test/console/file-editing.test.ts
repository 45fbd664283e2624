import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { createDeferred } from "../../src/base/deferred.ts";
import { seriousFindings } from "./accessibility.ts";
import { useConsole } from "./console-scene.ts";
import { directoryOf, FilesPage } from "./files-page.ts";

const SOURCE = "// Counts.\nexport const limit = 12;\n";

const scene = useConsole();

it("a text is edited and saved; what someone else wrote meanwhile is never lost without a question", async () => {
  const directory = await directoryOf(scene.server, { "code.ts": SOURCE, "win.txt": "one\r\ntwo\r\n" });
  const path = join(directory, "code.ts");
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  await files.goto(path);
  await files.expectText(SOURCE);
  await files.type("export const limit = 13;\n");
  await page.getByText("changed", { exact: true }).waitFor();
  await page.keyboard.press("Control+S");
  await page.getByText("code.ts is saved.").waitFor();
  expect(await readFile(path, "utf8")).toBe("export const limit = 13;\n");

  // What is not changed here shows by itself.
  for (const text of ["// theirs\n", "// theirs, too\n"]) {
    await writeFile(path, text);
    await files.expectText(text);
  }
  expect(await page.getByText("changed", { exact: true }).count()).toBe(0);
  // What is changed here stays, and says so.
  await files.type("// mine\n");
  await writeFile(path, "// theirs again\n");
  await page.getByText("Someone else changed the file").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await files.dialog.getByText("Someone else changed this file").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  await files.press("Keep editing");
  await files.expectText("// mine\n");
  expect(await readFile(path, "utf8")).toBe("// theirs again\n");
  await page.keyboard.press("Control+S");
  await files.press("Overwrite with mine");
  await expect.poll(() => readFile(path, "utf8")).toBe("// mine\n");
  // The page knows it, too.
  await page.getByText("Someone else changed the file").waitFor({ state: "hidden" });
  await files.type("// mine again\n");
  await writeFile(path, "// theirs at last\n");
  await page.getByText("Someone else changed the file").waitFor();
  await page.keyboard.press("Control+S");
  await files.press("Reload and lose my changes");
  await files.expectText("// theirs at last\n");
  // A program that replaces the file, and one that deletes it.
  await writeFile(join(directory, "next"), "// replaced\n");
  await rename(join(directory, "next"), path);
  await files.expectText("// replaced\n");
  await files.type("// kept\n");
  await rm(path);
  await page.getByText("was deleted or moved away").waitFor();
  await page.keyboard.press("Control+S");
  await page.getByText("was deleted or moved away").waitFor({ state: "hidden" });
  expect(await readFile(path, "utf8")).toBe("// kept\n");

  await files.goto(join(directory, "win.txt"));
  await files.expectText("one\ntwo\n");
  await files.type("one\nthree\n");
  await page.keyboard.press("Control+S");
  await page.getByText("win.txt is saved.").waitFor();
  expect(await readFile(join(directory, "win.txt"), "utf8")).toBe("one\r\nthree\r\n");
  opened.expectClean();
});

it("the question which version to keep shows both, side by side, with what differs", async () => {
  const lines = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
  const directory = await directoryOf(scene.server, { "list.txt": lines.join("\n"), "large.txt": "" });
  const path = join(directory, "list.txt");
  const changed = (index: number, text: string): string => lines.with(index, text).join("\n");
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, dialog, opened } = files;
  await files.goto(path);
  await page.getByText("line 12").waitFor();
  await files.type(changed(19, "line 20 is mine"));
  await writeFile(path, changed(29, "line 30\u202e is theirs"));
  await page.getByText("Someone else changed the file").waitFor();
  await page.keyboard.press("Control+S");
  const differences = dialog.getByRole("region", { name: "Differences" });
  const rows = differences.getByRole("row");
  await expect
    .poll(async () => (await rows.allInnerTexts()).map((text) => text.split("\t")))
    .toEqual([
      ["Yours", "On the disk"],
      ["16 lines are the same"],
      ...["17", "18", "19"].map((number) => [number, `line ${number}`, number, `line ${number}`]),
      ["20", "line 20 is mine", "20", "line 20"],
      ...["21", "22", "23"].map((number) => [number, `line ${number}`, number, `line ${number}`]),
      ["3 lines are the same"],
      ...["27", "28", "29"].map((number) => [number, `line ${number}`, number, `line ${number}`]),
      ["30", "line 30", "30", "line 30\\u202e is theirs"],
      ...["31", "32", "33"].map((number) => [number, `line ${number}`, number, `line ${number}`]),
      ["7 lines are the same"],
    ]);
  expect(await differences.locator("mark").allInnerTexts()).toEqual([" is mine", "\\u202e is theirs"]);
  // The keyboard is where nothing is lost, and can scroll it.
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await seriousFindings(page)).toEqual([]);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await seriousFindings(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await page.setViewportSize({ width: 1440, height: 900 });
  await files.press("Keep editing");
  // Only line endings differ.
  await writeFile(path, changed(19, "line 20 is mine").replaceAll("\n", "\r\n"));
  await page.keyboard.press("Control+S");
  await dialog
    .getByText("Only their line endings differ: yours has LF, the file on the disk CRLF.")
    .waitFor();
  await files.press("Keep editing");
  await writeFile(path, Buffer.from([0, 1, 2]));
  await page.keyboard.press("Control+S");
  await dialog.getByText("The file on the disk is no longer text.").waitFor();
  await files.press("Keep editing");
  await writeFile(path, "x\n".repeat(1_500_000));
  await page.keyboard.press("Control+S");
  await dialog.getByText("They are too large to be compared here.").waitFor();
  await files.press("Overwrite with mine");
  await expect.poll(() => readFile(path, "utf8")).toBe(changed(19, "line 20 is mine"));
  opened.expectClean();
});

/** The editor is not loaded before the returned function is called. */
async function holdEditor(page: Page): Promise<() => void> {
  const released = createDeferred<void>();
  await page.route(/code-editor/, async (route) => {
    await released.promise;
    await route.continue();
  });
  return () => released.resolve();
}

it("what is typed while a file is being saved is saved, too, when that is asked for", async () => {
  const directory = await directoryOf(scene.server, { "text.txt": "" });
  const path = join(directory, "text.txt");
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  await files.goto(path);
  await files.expectText("");
  await files.type("first");
  scene.server.signal("SIGSTOP");
  try {
    await page.keyboard.press("Control+S");
    await page.getByRole("button", { name: "Saving…" }).waitFor();
    await page.keyboard.type(" second");
    await page.keyboard.press("Control+S");
  } finally {
    scene.server.signal("SIGCONT");
  }
  await expect.poll(() => readFile(path, "utf8")).toBe("first second");
  await expect.poll(() => page.getByText("changed", { exact: true }).count()).toBe(0);
  opened.expectClean();
});

it("an editor that comes late does not take the keyboard from who types elsewhere", async () => {
  const directory = await directoryOf(scene.server, { "code.ts": SOURCE });
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  const release = await holdEditor(page);
  const asked = page.waitForRequest(/code-editor/);
  await files.goto(join(directory, "code.ts"));
  await asked;
  await page.keyboard.press("p");
  const field = page.locator("input:focus");
  await field.fill("half of a ");
  release();
  await files.expectText(SOURCE);
  await page.keyboard.type("path");
  expect(await field.inputValue()).toBe("half of a path");
  await files.expectText(SOURCE);
  // Who types nowhere else has it.
  await files.goto(join(directory, "code.ts"));
  await page.locator(".cm-focused").waitFor();
  opened.expectClean();
});

it("an editor that comes late has what the file contains by then", async () => {
  const directory = await directoryOf(scene.server, { "text.txt": "old\n" });
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  const release = await holdEditor(page);
  await files.goto(join(directory, "text.txt"));
  await page.getByText("4 B", { exact: true }).waitFor();
  await writeFile(join(directory, "text.txt"), "new text\n");
  await page.getByText("9 B", { exact: true }).waitFor();
  release();
  await files.expectText("new text\n");
  opened.expectClean();
});

it("a change that was made just now is not left without a question", async () => {
  const directory = await directoryOf(scene.server, { "text.txt": "first\n" });
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, dialog, opened } = files;
  await files.goto(join(directory, "text.txt"));
  await files.expectText("first\n");
  // The next task after the change, before the page is drawn.
  await page.evaluate(async () => {
    document.querySelector<HTMLElement>(".cm-content")!.focus();
    document.execCommand("insertText", false, "mine");
    const { port1, port2 } = new MessageChannel();
    await new Promise((resolve) => {
      port1.addEventListener("message", resolve);
      port1.start();
      port2.postMessage(undefined);
    });
    document.querySelector<HTMLElement>('a[href="/p"]')!.click();
  });
  await dialog.getByText("Leave without saving?").waitFor();
  await files.press("Cancel");
  opened.expectClean();
});

it("what is not saved is kept: over a restart of the server, beside other tabs, and until somebody agrees to lose it", async () => {
  const directory = await directoryOf(scene.server, { "text.txt": "first\n" });
  const path = join(directory, "text.txt");
  await using files = await FilesPage.open(scene.browser, scene.server, { losesConnections: true });
  await using other = await FilesPage.open(scene.browser, scene.server, { losesConnections: true });
  const { page, dialog, opened } = files;
  await files.goto(scene.server.workDirectory);
  await files.click(basename(directory));
  await files.click("text.txt");
  await files.expectText("first\n");
  await files.type("mine\n");
  await page.getByRole("link", { name: "Processes" }).click();
  await dialog.getByText("Leave without saving?").waitFor();
  await files.press("Cancel");
  await files.expectText("mine\n");
  await files.back();
  await dialog.getByText("Leave without saving?").waitFor();
  await files.press("Cancel");
  await files.at(path);
  // Twice, as with an impatient finger, and there and back again.
  for (const steps of [
    [-1, -1],
    [-1, 1],
  ]) {
    await page.evaluate((all) => all.forEach((step) => history.go(step)), steps);
    await dialog.getByText("Leave without saving?").waitFor();
    await files.press("Cancel");
    await files.at(path);
    await files.expectText("mine\n");
  }

  // Another program saves while this page's server is gone.
  await scene.server.stop("SIGKILL");
  await page.getByText(/The connection was lost|The server cannot be reached/).waitFor();
  await writeFile(path, "theirs\n");
  await scene.server.start();
  await opened.ready();
  await files.expectText("mine\n");
  await page.getByText("Someone else changed the file").waitFor();

  await other.opened.ready();
  await other.goto(path);
  await other.expectText("theirs\n");
  await other.type("from another tab\n");
  await other.page.keyboard.press("Control+S");
  await other.page.getByText("text.txt is saved.").waitFor();
  await page.keyboard.press("Control+S");
  await dialog.getByText("Someone else changed this file").waitFor();
  await files.press("Overwrite with mine");
  await other.expectText("mine\n");
  await page.getByText("changed", { exact: true }).waitFor({ state: "hidden" });
  expect(await readFile(path, "utf8")).toBe("mine\n");

  await files.type("never saved\n");
  await page.getByRole("link", { name: "Processes" }).click();
  await files.press("Leave");
  await page.getByRole("heading", { name: "Processes" }).waitFor();
  await files.back();
  await files.expectText("mine\n");
  opened.expectClean();
  other.opened.expectClean();
});
