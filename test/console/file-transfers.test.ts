import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Relay } from "../client/relay.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { cutEvery } from "../fixtures/cut-every.ts";
import { originOf, useConsole } from "./console-scene.ts";
import { FilesPage } from "./files-page.ts";
import { heapBytes } from "./page-work.ts";

const MIB = 1024 * 1024;
/** CONSOLE_TRANSFER_MIB=200 is the long form. */
const SIZE_MIB = Number(process.env["CONSOLE_TRANSFER_MIB"] ?? 8);
const MAX_GROWTH_BYTES = 64 * MIB;

const scene = useConsole();
/** Files of the person, on the machine of the browser. */
let desktop: string;

beforeAll(async () => {
  desktop = await mkdtemp("/var/tmp/exec-server-desktop-");
});

afterAll(async () => {
  await rm(desktop, { recursive: true, force: true });
});

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}

/** A file that cannot be compressed. */
async function makeFile(path: string, mib: number): Promise<string> {
  await writeFile(
    path,
    (function* blocks() {
      for (let block = 0; block < mib; block += 1) yield randomBytes(MIB);
    })(),
  );
  return hashOf(path);
}

async function cp(from: string, to: string): Promise<void> {
  const args = [builtCli, "cp", "--quiet", "--url", scene.server.webSocketUrl, from, to];
  await promisify(execFile)(process.execPath, args, { env: scene.server.environment });
}

async function emptyDirectory(name: string): Promise<string> {
  const path = join(scene.server.workDirectory, name);
  await mkdir(path);
  return path;
}

/** Chooses files as with the button, and the window of the browser. */
async function pick(page: Page, what: string, paths: string | readonly string[]): Promise<void> {
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  const [chooser] = await Promise.all([
    page.waitForEvent("filechooser"),
    page.getByRole("menuitem", { name: what }).click(),
  ]);
  await chooser.setFiles(paths);
}

it("a name that cannot be written keeps nothing else from being uploaded", async () => {
  const directory = await emptyDirectory("partly");
  await mkdir(join(directory, "taken"));
  const names = ["before", "taken", "after"];
  for (const name of names) await writeFile(join(desktop, name), name);
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page } = files;
  await files.goto(directory);
  await files.row("taken").waitFor();
  await pick(
    page,
    "Upload files",
    names.map((name) => join(desktop, name)),
  );
  await files.jobs.getByText(/Upload 3 files: failed: 1 of 3 failed: .*taken: not a regular file/).waitFor();
  expect(await readFile(join(directory, "before"), "utf8")).toBe("before");
  expect(await readFile(join(directory, "after"), "utf8")).toBe("after");
  expect(await readdir(join(directory, "taken"))).toEqual([]);
  files.opened.expectClean();
});

it(`${SIZE_MIB} MiB are uploaded and downloaded with equal hashes, and the page stays small`, async () => {
  const directory = await emptyDirectory("large");
  const source = join(desktop, "large.bin");
  const hash = await makeFile(source, SIZE_MIB);
  await using files = await FilesPage.open(scene.browser, scene.server, {
    acceptDownloads: true,
    downloads: true,
  });
  const { page, jobs, opened } = files;
  // As in browsers that have no window for saving.
  await page.addInitScript(() => Reflect.deleteProperty(window, "showSaveFilePicker"));
  await files.goto(directory);
  const before = await heapBytes(page);
  const figures: Record<string, number> = {};
  const measure = async (name: string, happens: () => Promise<void>): Promise<void> => {
    const beganMs = performance.now();
    await happens();
    figures[`${name}Ms`] = Math.round(performance.now() - beganMs);
    figures[`${name}GrownMiB`] = Math.round(((await heapBytes(page)) - before) / MIB);
    figures[`${name}ServerMiB`] = Math.round((await scene.server.residentBytes()) / MIB);
  };
  await measure("upload", async () => {
    await pick(page, "Upload files", source);
    await jobs.getByText("Upload large.bin: done").waitFor({ timeout: 240_000 });
  });
  expect(await readdir(directory)).toEqual(["large.bin"]);
  expect(await hashOf(join(directory, "large.bin"))).toBe(hash);
  // The same for comparison, without a browser.
  if (SIZE_MIB > 100) {
    await measure("cpThere", () => cp(source, `:${join(directory, "cp.bin")}`));
    await measure("cpBack", () => cp(`:${join(directory, "cp.bin")}`, join(desktop, "cp.bin")));
  }
  await measure("download", async () => {
    const [download] = await Promise.all([
      page.waitForEvent("download", { timeout: 240_000 }),
      files.choose("large.bin", "Download"),
    ]);
    expect(download.suggestedFilename()).toBe("large.bin");
    await download.saveAs(join(desktop, "copy.bin"));
  });
  expect(await hashOf(join(desktop, "copy.bin"))).toBe(hash);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures["uploadGrownMiB"]! * MIB).toBeLessThan(MAX_GROWTH_BYTES);
  expect(figures["downloadGrownMiB"]! * MIB).toBeLessThan(MAX_GROWTH_BYTES);
  opened.expectClean();
});

it("files and directories are dropped and chosen, over what is there only after a question", async () => {
  const directory = await emptyDirectory("dropped");
  const tree = join(desktop, "tree");
  await mkdir(join(tree, "deep/hollow"), { recursive: true });
  await writeFile(join(tree, "deep/one.txt"), "one");
  await writeFile(join(tree, "two.txt"), "two");
  await writeFile(join(desktop, "Case"), "large");
  await writeFile(join(desktop, "case"), "small");
  await writeFile(join(desktop, "nothing"), "");
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, dialog, jobs, opened } = files;
  await files.goto(directory);
  await page.getByText("This directory is empty").waitFor();
  await files.drop([tree, join(desktop, "Case"), join(desktop, "case"), join(desktop, "nothing")]);
  await jobs.getByText("Upload 5 files: done").waitFor();
  await files.expectNames(["tree", "Case", "case", "nothing"]);
  const contents = await Promise.all(
    ["tree/deep/one.txt", "tree/two.txt", "Case", "case", "nothing"].map((name) =>
      readFile(join(directory, name), "utf8"),
    ),
  );
  expect(contents).toEqual(["one", "two", "large", "small", ""]);
  expect(await readdir(join(directory, "tree/deep"))).toEqual(["hollow", "one.txt"]);

  await writeFile(join(desktop, "Case"), "changed");
  await files.drop([join(desktop, "Case")]);
  await dialog.getByText("Replace Case?").waitFor();
  await files.press("Cancel");
  expect(await readFile(join(directory, "Case"), "utf8")).toBe("large");
  await files.drop([join(desktop, "Case")]);
  await files.press("Replace");
  await jobs.getByText("Upload Case: done").waitFor();
  expect(await readFile(join(directory, "Case"), "utf8")).toBe("changed");

  await page.evaluate(() => {
    const transfer = new DataTransfer();
    // Like a picture dragged from another page, which is not a file on the disk.
    transfer.items.add(new File(["pixels"], "from a page.png"));
    document.querySelector(".files-drop")!.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer }));
  });
  await jobs.getByText("Upload from a page.png: done").waitFor();
  await pick(page, "Upload a directory", join(tree, "deep"));
  await jobs.getByText("Upload one.txt: done").waitFor();
  expect((await readdir(directory)).sort()).toEqual([
    "Case",
    "case",
    "deep",
    "from a page.png",
    "nothing",
    "tree",
  ]);
  opened.expectClean();
});

it("a dropped directory whose files disappear meanwhile says which, and uploads the others", async () => {
  const directory = await emptyDirectory("vanishing");
  const tree = join(desktop, "vanishing");
  await mkdir(join(tree, "deep"), { recursive: true });
  for (const name of ["a", "deep/b", "deep/c"]) await writeFile(join(tree, name), name);
  await mkdir(join(directory, "vanishing"));
  await writeFile(join(directory, "vanishing/a"), "old");
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { jobs, dialog, opened } = files;
  await files.goto(directory);
  await files.expectNames(["vanishing"]);
  await files.drop([tree]);
  await dialog.getByText("Replace a?").waitFor();
  // Having been looked through, it is not listed any more.
  await expect.poll(() => jobs.getByText("Read vanishing").count()).toBe(0);
  await rm(join(tree, "deep/b"));
  await files.press("Replace");
  await jobs
    .getByText(
      /Upload 3 files: failed: 1 of \d failed: B cannot be read on this computer; check its permissions/i,
    )
    .waitFor();
  expect(await readFile(join(directory, "vanishing/a"), "utf8")).toBe("a");
  expect(await readdir(join(directory, "vanishing/deep"))).toEqual(["c"]);
  opened.expectClean();
});

it("a file that misses the list does not take the place of the page", async () => {
  const directory = await emptyDirectory("missed");
  await writeFile(join(directory, "text.txt"), "text\n");
  await writeFile(join(desktop, "missed"), "missed");
  await using files = await FilesPage.open(scene.browser, scene.server);
  const { page, opened } = files;
  await files.goto(join(directory, "text.txt"));
  await files.expectText("text\n");
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [join(desktop, "missed")], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, x: 900, y: 20, data });
  await session.detach();
  await files.expectText("text\n");
  await files.at(join(directory, "text.txt"));
  opened.expectClean();
});

/** A page whose connection goes through a relay that can be slowed down and cut. */
async function openBehind(relay: Relay, directory: string): Promise<FilesPage> {
  const origin = originOf(relay);
  const files = await FilesPage.open(scene.browser, scene.server, {
    origin,
    losesConnections: true,
    downloads: true,
  });
  await files.goto(directory);
  return files;
}

it("a transfer that is stopped half-way leaves nothing behind, whatever the connection does", async () => {
  const directory = await emptyDirectory("stopped");
  const source = join(desktop, "stopped.bin");
  await makeFile(source, 6);
  await using relay = await Relay.open(scene.server.port);
  await using files = await openBehind(relay, directory);
  const { page, jobs, opened } = files;
  const halted = haltAfter(relay, 3 * MIB);
  await pick(page, "Upload files", source);
  await halted;
  // What has passed the relay may still wait for the server.
  await expect.poll(() => partsIn(directory)).toHaveLength(1);
  await jobs.getByRole("button", { name: "Stop: Upload stopped.bin" }).click();
  await jobs.getByText("Upload stopped.bin: stopped").waitFor();
  relay.resume();
  await expect.poll(() => readdir(directory)).toEqual([]);

  await makeFile(join(directory, "here.bin"), 6);
  await files.expectNames(["here.bin"]);
  const haltedAgain = haltAfter(relay, 3 * MIB);
  await files.choose("here.bin", "Download");
  await haltedAgain;
  await jobs.getByRole("button", { name: "Stop: Download here.bin" }).click();
  await jobs.getByText("Download here.bin: stopped").waitFor();
  relay.resume();
  // What was under way has passed when this shows.
  await writeFile(join(directory, "mark"), "");
  await files.expectNames(["here.bin", "mark"]);
  // Stopped while disconnected for a while.
  const cut = haltAfter(relay, 3 * MIB);
  await pick(page, "Upload files", source);
  await cut;
  relay.refuses = true;
  relay.cut();
  await page.getByText("The connection was lost").waitFor();
  await jobs.getByRole("button", { name: "Stop: Upload stopped.bin" }).click();
  await expect.poll(() => jobs.getByText("Upload stopped.bin: stopped").count()).toBe(2);
  relay.refuses = false;
  relay.resume();
  await opened.ready();
  await expect.poll(() => readdir(directory)).toEqual(["here.bin", "mark"]);
  opened.expectClean();
});

it("transfers continue after cuts, and after a restart of the server", async () => {
  const directory = await emptyDirectory("cut");
  const source = join(desktop, "cut.bin");
  const hash = await makeFile(source, 8);
  await using relay = await Relay.open(scene.server.port);
  await using files = await openBehind(relay, directory);
  const { page, jobs, opened } = files;
  const cuts = cutEvery(relay, 3 * MIB, 2);
  await pick(page, "Upload files", source);
  await jobs.getByText("Upload cut.bin: done").waitFor();
  expect(cuts()).toBe(2);
  expect(await readdir(directory)).toEqual(["cut.bin"]);
  expect(await hashOf(join(directory, "cut.bin"))).toBe(hash);
  const download = async (): Promise<void> => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      files.choose("cut.bin", "Download"),
    ]);
    await download.saveAs(join(desktop, "back.bin"));
    expect(await hashOf(join(desktop, "back.bin"))).toBe(hash);
  };
  const further = cutEvery(relay, 3 * MIB, 2);
  await download();
  expect(further()).toBe(2);

  /** The server ends when half has passed, and begins again. */
  const restart = async (): Promise<void> => {
    await haltAfter(relay, 4 * MIB);
    await scene.server.stop("SIGKILL");
    relay.cut();
    relay.resume();
    await scene.server.start();
  };
  await rm(join(directory, "cut.bin"));
  await files.expectNames([]);
  const [uploaded] = [restart()];
  await pick(page, "Upload files", source);
  await uploaded;
  await expect.poll(() => jobs.getByText("Upload cut.bin: done").count()).toBe(2);
  expect(await readdir(directory)).toEqual(["cut.bin"]);
  expect(await hashOf(join(directory, "cut.bin"))).toBe(hash);
  await files.row("cut.bin").waitFor();
  await Promise.all([restart(), download()]);
  opened.expectClean();
});

/** Lets so many more bytes pass, and then none until it is released. */
function haltAfter(relay: Relay, bytes: number): Promise<void> {
  const limit = relay.bytes + bytes;
  return new Promise((resolve) => {
    relay.onBytes = (passed) => {
      if (passed < limit) return;
      relay.onBytes = undefined;
      relay.halt();
      resolve();
    };
  });
}

/** Files that are not complete yet. */
async function partsIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.startsWith("."));
}
