import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Host, ListedProcess } from "../../src/client/browser.ts";
import { expectUsable } from "./accessibility.ts";
import type { ConsolePage } from "./console-page.ts";
import { useConsole } from "./console-scene.ts";

const scene = useConsole();
let host: Host;
let opened: ConsolePage;
let page: Page;

beforeAll(async () => {
  host = await scene.server.connect();
  opened = await scene.open();
  ({ page } = opened);
});

afterAll(async () => {
  await host?.close();
});

async function fileOf(name: string, rows: number): Promise<string> {
  const path = join(scene.server.workDirectory, name);
  const lines = Array.from({ length: rows }, (_, index) => `${index + 1}`);
  await writeFile(path, `n\n${lines.join("\n")}\n`);
  return path;
}

/** Fills the dialog; what is not given stays as it is. */
async function fill(texts: Readonly<Record<string, string>>): Promise<void> {
  const dialog = page.getByRole("dialog");
  for (const [label, text] of Object.entries(texts))
    await dialog.getByLabel(label, { exact: true }).fill(text);
}

async function openDialog(): Promise<Locator> {
  await page.goto(`${scene.server.origin}/r`);
  await opened.ready();
  await page.getByRole("heading", { name: "Rows" }).waitFor();
  await page.keyboard.press("n");
  const dialog = page.getByRole("dialog", { name: "Start a job over rows" });
  await dialog.waitFor();
  return dialog;
}

const submit = (): Promise<void> => page.getByRole("dialog").getByRole("button", { name: "Start" }).click();
const bar = (): Locator => page.getByRole("progressbar", { name: "Ended rows" });
const rows = (): Locator => page.locator(".rows-table .row-grid-row");

const jobs = async (): Promise<readonly ListedProcess[]> =>
  (await host.processes({ scope: "kept" })).filter(({ argv }) => argv.includes("map"));

it("a job is started in a dialog, and its rows are listed with their results", async () => {
  const input = await fileOf("numbers.csv", 6);
  const dialog = await openDialog();
  await submit();
  await dialog.getByText("Type a command.").waitFor();
  await fill({
    Rows: input,
    "Command for each row": "test {n} != 3 && echo square $(({n} * {n}))",
    "Rows at once": "2",
  });
  expect(await dialog.getByLabel("What is run").innerText()).toMatch(/exec-server\s+map\s.*--shell/s);
  await expectUsable(page, "dialog");
  await submit();
  await expect.poll(() => bar().getAttribute("aria-valuenow")).toBe("6");
  await page.locator(".rows-head").getByText("exited").waitFor();
  // The one that failed is first; then they are in the order of the file.
  expect(await rows().locator(".row").allInnerTexts()).toEqual(["3", "1", "2", "4", "5", "6"]);
  expect(await rows().nth(5).locator(".result").innerText()).toBe("square 36");
  expect(await rows().nth(0).locator(".result").innerText()).toMatch(/status 1/);
  await expectUsable(page, "job");
});

it("rows are filtered, sorted and shown in full", async () => {
  await page.getByLabel("Filter the rows").fill("square 6");
  await expect.poll(() => rows().locator(".row").allInnerTexts()).toEqual(["4", "6"]);
  await page.getByLabel("Filter the rows").fill("completed");
  await page.getByRole("button", { name: "Row", exact: true }).click();
  await page.getByRole("button", { name: "Row", exact: true }).click();
  await expect.poll(() => rows().locator(".row").allInnerTexts()).toEqual(["6", "5", "4", "2", "1"]);
  await page.getByLabel("Filter the rows").press("Enter");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  const details = page.getByRole("dialog", { name: "Row 6" });
  await details.getByText("square 36").waitFor();
  await expectUsable(page, "row");
  await page.keyboard.press("Escape");
  await page.getByLabel("Filter the rows").fill("nothing has this");
  await page.getByText("No row matches the filter.").waitFor();
  await page.getByLabel("Filter the rows").fill("");
});

it("rows that failed are run again, and the job is listed", async () => {
  await page.getByRole("button", { name: "Run the failed rows again" }).click();
  const states = async () => (await jobs()).map(({ state, argv }) => [state, argv.includes("--only-failed")]);
  await expect.poll(states).toEqual([["closed", true]]);
  await page.getByRole("link", { name: "Results" }).click();
  await page.getByText("square 36").first().waitFor();
  await page.goto(`${scene.server.origin}/r`);
  const job = page.locator("tr", { hasText: "numbers.csv" });
  await job.getByText("exited").waitFor();
  await expectUsable(page, "jobs");
  await job.getByRole("link", { name: "numbers.csv" }).click();
  await bar().waitFor();
});

it("a job keeps running without the page, is stopped gracefully, and resumed", async () => {
  const input = await fileOf("slow.csv", 40);
  const gate = join(scene.server.workDirectory, "gate");
  await openDialog();
  await fill({
    Rows: input,
    "Command for each row": `test {n} -lt 4 || test -e ${gate} || exec sleep 600`,
    "Rows at once": "4",
  });
  await submit();
  await expect.poll(() => bar().getAttribute("aria-valuenow")).toBe("3");
  await page.reload();
  await expect.poll(() => bar().getAttribute("aria-valuenow")).toBe("3");
  await expectUsable(page, "running");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
  await page.locator(".rows-head").getByText("SIGINT").waitFor();
  const resume = page.getByRole("button", { name: "Resume" });
  await resume.waitFor();
  const [stopped] = (await jobs()).filter(({ argv }) => argv.includes(input));
  expect(stopped).toMatchObject({ state: "closed", signal: "SIGINT" });
  // In order, with what has ended.
  const results = (await readFile(join(scene.server.workDirectory, "slow.results.csv"), "utf8"))
    .trim()
    .split("\n");
  expect(results.length).toBe(41);
  await writeFile(gate, "");
  await resume.click();
  await expect.poll(() => page.locator(".rows-counts .completed dd").innerText()).toBe("40");
  await page.locator(".rows-head").getByText("ended").waitFor();
});

it("what map refuses is shown, and what is done about it", async () => {
  const input = await fileOf("refused.csv", 2);
  await openDialog();
  await fill({ Rows: input, "Command for each row": "echo {m}" });
  await submit();
  await expect.poll(() => page.getByRole("alert").innerText()).toMatch(/\bm\b.*column|column.*\bm\b/);
  await expectUsable(page, "refused");
  await page.getByRole("button", { name: "Start again…" }).click();
  await fill({ "Command for each row": "echo {n}" });
  await submit();
  await expect.poll(() => bar().getAttribute("aria-valuenow")).toBe("2");
  await expect.poll(() => page.getByRole("alert").allInnerTexts()).toEqual([]);
  // Results of an earlier job are replaced only on demand.
  await page.getByRole("button", { name: "Start again…" }).click();
  await submit();
  await expect.poll(() => page.getByRole("alert").innerText()).toMatch(/exists/);
  await page.getByRole("button", { name: "Start again…" }).click();
  await page.getByLabel("Replace the results of an earlier job").check();
  await submit();
  await page.locator(".rows-head").getByText("ended").waitFor();
  await expect.poll(() => page.getByRole("alert").allInnerTexts()).toEqual([]);
  opened.expectClean();
});
