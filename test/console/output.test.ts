import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import type { RemoteProcess } from "../../src/client/process/remote-process.ts";
import { ConsolePage, type PageOptions } from "./console-page.ts";
import { useConsole } from "./console-scene.ts";
import { expectShown, frames, shownLines, shownText } from "./output-screen.ts";
import { pressTogether } from "./press-together.ts";

const scene = useConsole();
let host: Host;
let opened: ConsolePage;
let page: Page;

beforeAll(async () => {
  host = await scene.server.connect();
  opened = await openPage({ downloads: true });
  ({ page } = opened);
});

afterAll(async () => {
  await host?.close();
});

async function openPage(options: PageOptions): Promise<ConsolePage> {
  return scene.open(options);
}

/** Starts a shell script whose output the page shows. A line of input lets it continue. */
async function show(name: string, script: string): Promise<RemoteProcess> {
  const process = await host.start(["sh", "-c", script], { keep: { name }, stdin: "pipe" });
  await page.goto(`${scene.server.origin}/p/${name}`);
  await page.getByRole("heading", { name }).waitFor();
  return process;
}

/** A script of many numbered lines that writes one more for each line that it reads. */
const NUMBERED = "seq -f 'line %g' 500; while read more; do echo \"more $more\"; done";

describe("lines", () => {
  it("stdout and stderr differ in looks, and can be selected", async () => {
    await show("streams", "echo to-out; echo to-err >&2; exec sleep 600");
    await expect.poll(async () => (await shownLines(page)).length).toBe(2);
    const kinds = Object.fromEntries((await shownLines(page)).map(({ text, kind }) => [text, kind]));
    expect(kinds).toEqual({ "to-out": "stdout", "to-err": "stderr" });
    const barOf = (kind: string) =>
      page.locator(`.out-shown .out-line.${kind}`).evaluate((line) => getComputedStyle(line).borderLeftColor);
    expect(await barOf("stderr")).not.toBe(await barOf("stdout"));
    await page.getByRole("button", { name: "stderr" }).click();
    await expect.poll(() => shownText(page)).toBe("to-err");
    await page.getByRole("button", { name: "stdout" }).click();
    await expect.poll(() => shownText(page)).toBe("to-out");
    await page.getByRole("button", { name: "All", exact: true }).click();
    await expect.poll(async () => (await shownLines(page)).length).toBe(2);
  });

  it("colours are those of the theme or the program's own, also when a sequence comes in two parts", async () => {
    const process = await show(
      "colours",
      String.raw`printf '\033[31mred\033[0m \033[38;2;1;2;3mown\033[0m \033[1mbold\033[0m\n\033[3'; read x; printf '2mgreen\033[0m plain\n'; exec sleep 600`,
    );
    await expectShown(page, "red own bold");
    await process.write("\n");
    await expectShown(page, /^green plain$/m);
    const colour = (text: string) =>
      page
        .locator(".out-text span", { hasText: text })
        .evaluate((span) => [getComputedStyle(span).color, getComputedStyle(span).fontWeight]);
    const token = (name: string) =>
      page.evaluate((property) => {
        const probe = document.createElement("i");
        probe.style.color = `var(${property})`;
        document.body.append(probe);
        const { color } = getComputedStyle(probe);
        probe.remove();
        return color;
      }, name);
    expect((await colour("red"))[0]).toBe(await token("--term-red"));
    expect((await colour("green"))[0]).toBe(await token("--term-green"));
    expect((await colour("own"))[0]).toBe("rgb(1, 2, 3)");
    expect((await colour("bold"))[1]).toBe("700");
  });

  it("the end is followed until a person scrolls up, and again when they ask for it", async () => {
    const process = await show("following", NUMBERED);
    await expectShown(page, /line 500$/);
    await process.write("one\n");
    await expectShown(page, /more one$/);
    await page.locator(".out-box").hover();
    const follow = page.getByRole("button", { name: "Follow" });
    await page.mouse.wheel(0, -2000);
    await follow.waitFor();
    // The way up may take some frames.
    await expect.poll(() => shownText(page)).not.toContain("more one");
    await process.write("two\n");
    // A search goes to what is there when it begins.
    await expect
      .poll(() => page.locator(".out-all").evaluate((all) => Number.parseFloat(all.style.height)))
      .toBe(502 * 20);
    await page.keyboard.press("/");
    await page.keyboard.type("more two");
    await expect.poll(() => page.locator(".out-found").innerText()).toBe("1 of 1");
    await expectShown(page, "more two");
    // The same place again.
    await page.keyboard.press("Enter");
    await frames(page);
    expect(await shownText(page)).toContain("more two");
    await page.keyboard.press("Escape");
    await pressTogether(page, "gg");
    await expectShown(page, /^line 1\n/);
    await process.write("three\n");
    await page.keyboard.press("G");
    await expectShown(page, /more three$/);
    await process.write("four\n");
    await expectShown(page, /more four$/);
  });

  it("lines that arrive all the time do not pull back who goes up, however small the step", async () => {
    const process = await show("streaming", "seq 500; while :; do echo more; sleep 0.005; done");
    await expectShown(page, /more\nmore$/);
    const box = page.locator(".out-box");
    const follow = page.getByRole("button", { name: "Follow" });
    await box.focus();
    for (const goUp of [() => page.keyboard.press("ArrowUp"), () => page.mouse.wheel(0, -4)]) {
      await box.hover();
      await goUp();
      await follow.waitFor();
      const place = () => box.evaluate(({ scrollTop, scrollHeight }) => ({ scrollTop, scrollHeight }));
      const before = await place();
      await expect.poll(async () => (await place()).scrollHeight).toBeGreaterThan(before.scrollHeight + 200);
      // The way up may take some frames.
      expect((await place()).scrollTop).toBeLessThanOrEqual(before.scrollTop);
      await page.keyboard.press("G");
      await follow.waitFor({ state: "hidden" });
    }
    await process.terminate();
  });

  it("what is looked at stays in place, before and while lines arrive", async () => {
    const process = await show("staying", NUMBERED);
    await expectShown(page, /line 500$/);
    // Nothing that is still on its way to its place may have shown it there.
    await frames(page);
    expect(await shownText(page)).toMatch(/line 500$/);
    await pressTogether(page, "gg");
    await expectShown(page, /^line 1\n/);
    await page.locator(".out-box").hover();
    await page.mouse.wheel(0, 1000);
    await expect.poll(() => shownText(page)).toMatch(/^line 51\n/);
    await process.write("while away\n");
    await expect
      .poll(() => page.locator(".out-all").evaluate((all) => Number.parseFloat(all.style.height)))
      .toBe(501 * 20);
    await frames(page);
    expect(await shownText(page)).toMatch(/^line 51\n/);
  });

  it("a search counts, moves forwards and back, and matches case when capitals are typed", async () => {
    await show(
      "searching",
      "seq -f 'line %g' 300; echo Needle one; echo needle two; seq 300; echo needle 3; exec sleep 600",
    );
    await expectShown(page, /needle 3$/);
    const found = () => page.locator(".out-found").innerText();
    await page.keyboard.press("/");
    // All at once: "needl" has as many matches, and Enter does nothing until those of the whole word are counted.
    await page.keyboard.insertText("needle");
    await expect.poll(found).toBe("1 of 3");
    await expectShown(page, "Needle one");
    await page.keyboard.press("Enter");
    await expect.poll(found).toBe("2 of 3");
    await page.keyboard.press("Enter");
    await expect.poll(found).toBe("3 of 3");
    await expectShown(page, "needle 3");
    await page.keyboard.press("Enter");
    await expect.poll(found).toBe("1 of 3");
    await page.keyboard.press("Shift+Enter");
    await expect.poll(found).toBe("3 of 3");
    await expect.poll(() => page.locator(".out-match.current").innerText()).toBe("needle");
    await page.getByLabel("Search the output").fill("Needle");
    await expect.poll(found).toBe("1 of 1");
    await page.getByLabel("Search the output").fill("no such thing");
    await expect.poll(found).toBe("none");
    await page.getByLabel("Go to a line").fill("150");
    await page.keyboard.press("Enter");
    await expectShown(page, /^line 150$/m);
    await page.getByLabel("Go to a line").fill("999999999");
    await page.keyboard.press("Enter");
    await expectShown(page, /needle 3$/);
  });

  it("a search goes to its first match although output keeps arriving", async () => {
    await show(
      "search-meanwhile",
      "seq -f 'line %g of many that are searched' 300000; echo needle; while sleep 0.002; do echo more; done",
    );
    await expectShown(page, /more$/);
    await page.keyboard.press("/");
    await page.keyboard.type("needle");
    await expect.poll(() => page.locator(".out-found").innerText()).toBe("1 of 1");
    await expectShown(page, "needle");
  });

  it("a download has the bytes as they came, of both streams or of one", async () => {
    const bytes = Buffer.concat([
      randomBytes(400_000),
      Buffer.from([0, 0xff, 0xc3]),
      Buffer.from("\r\nend\n"),
    ]);
    const file = join(scene.server.workDirectory, "bytes");
    await writeFile(file, bytes);
    await show("bytes", `cat ${file}; echo to-err >&2; exec sleep 600`);
    await expectShown(page, "to-err");
    await page.getByRole("button", { name: "stdout" }).click();
    await expectShown(page, /^end$/m);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download the output" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("bytes.stdout.log");
    expect(bytes.equals(await readFile(await download.path()))).toBe(true);
  });

  it("a window that becomes a phone's shows the lines, and so does one that becomes large again", async () => {
    await show("phone", NUMBERED);
    await expectShown(page, /line 500$/);
    await page.setViewportSize({ width: 390, height: 844 });
    await expectShown(page, /line 499\nline 500$/);
    await expect.poll(async () => (await shownLines(page)).length).toBeGreaterThan(10);
    await page.setViewportSize({ width: 1440, height: 900 });
    await expectShown(page, /line 499\nline 500$/);
  });

  it("a long line that wraps has room for all of it, also on a phone", async () => {
    await show("wrapped", "printf '%060d|\\n' 0 1; exec sleep 600");
    await expectShown(page, "1|");
    const rows = () =>
      page
        .locator(".out-shown .out-line")
        .evaluateAll((lines) => lines.map((line) => [line.clientHeight / 20, line.scrollHeight / 20]));
    await expect.poll(rows).toEqual([
      [1, 1],
      [1, 1],
    ]);
    await page.setViewportSize({ width: 390, height: 844 });
    await expect.poll(rows).toEqual([
      [2, 2],
      [2, 2],
    ]);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it("long lines wrap or not, and lines can have the time when they were written", async () => {
    await show("long", "printf '%0500d\\n' 7; echo short; exec sleep 600");
    await expectShown(page, "short");
    const height = () =>
      page
        .locator(".out-shown .out-line")
        .first()
        .evaluate((line) => line.clientHeight);
    await expect.poll(height).toBeGreaterThan(40);
    await page.keyboard.press("w");
    await expect.poll(height).toBe(20);
    await page.keyboard.press("t");
    await expect.poll(() => page.locator(".out-time").first().innerText()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}$/);
  });
});

describe("a process that is looked at", () => {
  it("gets lines of input, and the end of it; how it ended is said", async () => {
    await show("input", "cat; exit 0");
    const field = page.getByRole("textbox", { name: "Input" });
    await field.fill("typed <b>here</b>");
    await page.keyboard.press("Enter");
    await expectShown(page, "typed <b>here</b>");
    await page.getByRole("button", { name: "End input" }).click();
    await page.getByText(/^Exited with status 0\./).waitFor();
    await field.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Start again" }).waitFor();
  });

  it("ends with a code or by a signal, which are said with what it wrote last", async () => {
    const failing = await show("failing", "read x; echo last words; exit 3");
    await page.getByText("No output yet.").waitFor();
    await failing.write("\n");
    await page.getByText(/^Exited with status 3\./).waitFor();
    await expectShown(page, "last words");
    await show("signalled", "exec sleep 600");
    await page.getByRole("button", { name: "Signal" }).click();
    await page.getByRole("menuitem", { name: /SIGINT/ }).click();
    await page.getByText("Sent SIGINT to signalled.").waitFor();
    await page.getByText(/^Ended by SIGINT, sent through this server\./).waitFor();
  });

  it("is nobody's after it was forgotten, which is said", async () => {
    await page.goto(`${scene.server.origin}/p/never-started`);
    await page.getByText("There is no process never-started").waitFor();
    await page.getByRole("link", { name: "All processes" }).click();
    await page.getByRole("heading", { name: "Processes" }).waitFor();
  });
});

it("nothing of all this went wrong unseen", () => opened.expectClean());
