import { appendFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import { expectUsable } from "./accessibility.ts";
import { ConsolePage } from "./console-page.ts";
import { useConsole } from "./console-scene.ts";
import { HIDDEN, MARKUP, TURNED } from "./hostile-payload.ts";

/** Markup that would do harm, and a mark that turns what follows. */
const ODD = `${MARKUP[0]}${TURNED}dlo`;
const ODD_SHOWN = String.raw`${MARKUP[0]}\u202edlo`;

const scene = useConsole({ args: ["--audit", "audit.log"] });
let hosts: readonly Host[];
let opened: ConsolePage;
let page: Page;

beforeAll(async () => {
  hosts = await Promise.all([
    scene.server.connect(),
    connect(scene.server.webSocketUrl, { clientName: ODD }),
  ]);
  opened = await scene.open();
  ({ page } = opened);
});

afterAll(async () => {
  for (const host of hosts ?? []) await host.close();
});

async function visit(path: string): Promise<void> {
  await page.goto(`${scene.server.origin}${path}`);
  await opened.ready();
}

/** What is shown is text, readable in both themes and on a phone, and nothing that was in it has happened. */
async function expectSound(what: string): Promise<void> {
  await expectUsable(page, what);
  const seen = await page.evaluate(() => ({
    harmed: "harmed" in window,
    made: document.querySelectorAll("img, script:not([src]), [onerror]").length,
    text: document.body.innerText,
  }));
  expect(seen, what).toMatchObject({ harmed: false, made: 0 });
  expect(seen.text, what).not.toMatch(HIDDEN);
}

/** The part of a chart's width in which there is something in the colour below its line. */
function filledWidth(canvas: HTMLCanvasElement): number {
  const { width, height } = canvas;
  const pixelsOf = (context: CanvasRenderingContext2D) => context.getImageData(0, 0, width, height).data;
  const probe = canvas.parentElement!.appendChild(document.createElement("i"));
  probe.style.color = "var(--accent-soft)";
  const paint = new OffscreenCanvas(1, 1).getContext("2d")!;
  paint.fillStyle = getComputedStyle(probe).color;
  probe.remove();
  paint.fillRect(0, 0, 1, 1);
  const wanted = paint.getImageData(0, 0, 1, 1).data;
  const drawn = pixelsOf(canvas.getContext("2d")!);
  const columns = new Set<number>();
  for (let at = 0; at < drawn.length; at += 4)
    if ([0, 1, 2, 3].every((part) => Math.abs(drawn[at + part]! - wanted[part]!) < 4))
      columns.add((at / 4) % width);
  return columns.size / width;
}

it("sessions are listed by the names that clients give themselves, which are text", async () => {
  await visit("/s");
  const row = page.locator("tr", { hasText: ODD_SHOWN });
  await row.getByText("connected").waitFor();
  await page.locator("tr", { hasText: "this page" }).waitFor();
  await expectSound("sessions");
  // One that goes leaves the list.
  const [, odd] = hosts;
  await odd!.close();
  await row.waitFor({ state: "hidden" });
});

it("limits have their value, what is used of them, and a filter", async () => {
  await visit("/s/limits");
  const row = page.locator("tr", { has: page.getByText("max_sessions", { exact: true }) });
  await row.getByRole("meter").waitFor();
  expect(Number(await row.locator(".system-use .number").innerText())).toBeGreaterThanOrEqual(1);
  await page.getByLabel("Filter limits").fill("max_sessions");
  await expect.poll(() => page.locator("tbody tr").count()).toBeLessThan(5);
  await expectSound("limits");
});

it("metrics are drawn at once, from before the view was opened", async () => {
  await visit("/s/metrics");
  await expect.poll(() => page.locator(".system-charts canvas").count()).toBeGreaterThan(3);
  await page.getByRole("img", { name: /^Server memory: \d+ MiB$/ }).waitFor();
  // A line from the start of the server until now, in the first drawing: no second answer is needed.
  const chart = page.locator(".system-chart", { hasText: "Server memory" }).locator("canvas");
  await expect.poll(() => chart.evaluate(filledWidth)).toBeGreaterThan(0.7);
  await expectSound("metrics");
});

it("the audit log is shown and filtered, whatever facts are in it", async () => {
  const [host] = hosts;
  const directory = join(scene.server.workDirectory, "<b>odd");
  await mkdir(directory);
  await (await host!.start(["true", ODD], { cwd: directory })).exited;
  await visit("/s/audit");
  await page.getByLabel("Filter lines").fill("onerror");
  await page.locator("td", { hasText: "onerror" }).first().waitFor();
  expect(await page.locator("tbody tr b").count()).toBe(0);
  await expectSound("audit");
  await page.getByLabel("Filter lines").fill("no such fact");
  await expect.poll(() => page.locator("tbody tr").count()).toBe(0);
});

it("a job is followed by its ledger, whose texts are text; what is no ledger is said with a remedy", async () => {
  const ledger = join(scene.server.workDirectory, "<i>rows<i>.csv.ledger");
  const write = (...entries: readonly object[]) =>
    appendFile(ledger, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  const at = new Date().toISOString();
  await write(
    {
      kind: "job",
      version: 1,
      jobId: ODD,
      input: { path: `/data/${ODD}`, sha256: "x", rows: 4 },
      work: { command: ["echo", ODD] },
      at,
    },
    { kind: "run", at, pid: 1 },
    { kind: "begin", index: 0, attempt: 1 },
    { kind: "begin", index: 1, attempt: 1 },
    { kind: "end", index: 0, status: "completed", attempts: 1 },
    { kind: "end", index: 1, id: ODD, status: "failed", attempts: 2, error: ODD },
  );
  await visit("/r");
  await page.getByText("No jobs here yet").waitFor();
  await page.getByLabel("Ledger of a job").fill("relative.ledger");
  await page.getByText("Enter an absolute path.").waitFor();
  await expectSound("rows");
  await page.getByLabel("Ledger of a job").fill(ledger);
  await page.keyboard.press("Enter");
  const bar = page.getByRole("progressbar", { name: "Ended rows" });
  await expect.poll(() => bar.getAttribute("aria-valuenow")).toBe("2");
  await page.getByText(ODD_SHOWN).first().waitFor();
  await expectSound("job");
  await write(
    { kind: "begin", index: 2, attempt: 1 },
    { kind: "end", index: 2, status: "completed", attempts: 1 },
  );
  await expect.poll(() => bar.getAttribute("aria-valuenow")).toBe("3");
  await page.getByText("75 %").waitFor();
  // It is remembered, and can be forgotten.
  await visit("/r");
  await page.getByRole("link", { name: "<i>rows<i>.csv.ledger" }).waitFor();
  await page.getByRole("button", { name: /^Forget / }).click();
  await page.getByText("No jobs here yet").waitFor();
  const other = join(scene.server.workDirectory, "notes.txt");
  await writeFile(other, "not a ledger\n");
  for (const [path, words] of [
    [other, /not the ledger of a rows job/],
    [`${other}.none`, /no such file/i],
    ["/dev/zero", /regular file, and \/dev\/zero is not/],
    [scene.server.workDirectory, /regular file/],
  ] as const) {
    await visit(`/r${path}`);
    await expect.poll(() => page.getByRole("alert").innerText()).toMatch(words);
  }
  // One that is about to be written.
  await writeFile(`${other}.new`, "");
  await visit(`/r${other}.new`);
  await page.getByText("Nothing is recorded yet").waitFor();
  opened.expectClean();
});
