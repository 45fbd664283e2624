import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import { Relay } from "../client/relay.ts";
import { cutEvery } from "../fixtures/cut-every.ts";
import { originOf, useConsole } from "./console-scene.ts";
import { HIDDEN, LINKS, linkSequences, MARKUP, SEQUENCES, surroundings, TURNED } from "./hostile-payload.ts";
import { everyLine, expectShown, shownText } from "./output-screen.ts";

const LINES = 1200;
const CUTS = 4;
const CUT_BYTES = 20_000;
/** Longer than what the page shows as one line, and than what the server keeps. */
const LONG_LINE_BYTES = 10_000_000;
const INSIDE = ".out-frame, .out-facts";

const scene = useConsole();
let host: Host;

beforeAll(async () => {
  host = await scene.server.connect();
});

afterAll(async () => {
  await host?.close();
});

it("nothing that a process writes changes anything outside its lines, which show what would turn or hide text", async () => {
  const payload = join(scene.server.workDirectory, "payload");
  await writeFile(
    payload,
    Buffer.concat([
      Buffer.from([...MARKUP, ...SEQUENCES, ...linkSequences(), ...LINKS, ""].join("\n")),
      Buffer.from(`${TURNED}gnp.exe a\u200bb \u2066c \u0085 \x00\x00nul \u2028 separated\n`),
      Buffer.from([0x68, 0x61, 0x6c, 0x66, 0xf0, 0x9f, 0x98, 0x0a, 0xc3]),
      Buffer.from("\nend-of-it\n"),
    ]),
  );
  const started = await host.start(["sh", "-c", `read go; cat ${payload}; exec sleep 600`], {
    keep: { name: "hostile" },
    stdin: "pipe",
  });
  await using opened = await scene.open({
    permissions: ["clipboard-read", "clipboard-write"],
    // So that all of it is visible.
    viewport: { width: 1440, height: 1600 },
  });
  const { page } = opened;
  await page.goto(`${scene.server.origin}/p/hostile`);
  await page.getByText("No output yet.").waitFor();
  await page.getByRole("textbox", { name: "Input" }).waitFor();
  await page.evaluate(() => navigator.clipboard.writeText("mine"));
  const before = await surroundings(page, INSIDE);
  expect(before).toMatchObject({ clipboard: "mine", harmed: false });
  await started.write("go\n");
  await expectShown(page, "end-of-it");
  const text = await shownText(page);
  for (const line of [...MARKUP, ...LINKS]) expect(text).toContain(line);
  expect(text).toContain(String.raw`\u202egnp.exe a\u200bb \u2066c \x85 \x00\x00nul \u2028 separated`);
  expect(text).toMatch(/^half\ufffd+$/m);
  expect(text).not.toMatch(HIDDEN);
  // Links are text as well.
  expect(await page.locator(".out-box a").count()).toBe(0);
  for (const target of LINKS) await page.getByText(target, { exact: true }).first().click();
  await expect.poll(() => surroundings(page, INSIDE)).toEqual(before);
  await started.terminate();
  opened.expectClean();
});

it("a line without an end continues in pieces, and the page stays usable", async () => {
  const script = `head -c ${LONG_LINE_BYTES} /dev/zero | tr '\\0' 'x'; echo; echo after-it; exec sleep 600`;
  const started = await host.start(["sh", "-c", script], { keep: { name: "endless" } });
  await using opened = await scene.open();
  const { page } = opened;
  await page.goto(`${scene.server.origin}/p/endless`);
  await expectShown(page, /^x+\nafter-it$/m);
  // A piece has a bound, so that no element is endless.
  const longest = await page
    .locator(".out-text")
    .evaluateAll((texts) => Math.max(...texts.map((text) => text.textContent?.length ?? 0)));
  expect(longest).toBeLessThanOrEqual(8193);
  await page.keyboard.press("w");
  await page.keyboard.press("/");
  await page.keyboard.type("after-it");
  await expect.poll(() => page.locator(".out-found").innerText()).toBe("1 of 1");
  await started.terminate();
  opened.expectClean();
});

it("output whose connection is cut while it comes has every line once and in order", async () => {
  await using relay = await Relay.open(scene.server.port);
  const origin = originOf(relay);
  await using opened = await scene.openBehind(relay, { viewport: { width: 1440, height: 4000 } });
  const { page } = opened;
  const filling = "x".repeat(60);
  const write = `printf 'line-%s-${filling}\\n' $i; [ $((i%100)) = 0 ] && sleep 0.05`;
  const script = `read go; i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); ${write}; done; echo done; exec sleep 600`;
  const started = await host.start(["sh", "-c", script], { keep: { name: "cut" }, stdin: "pipe" });
  await page.goto(`${origin}/p/cut`);
  await page.getByText("No output yet.").waitFor();
  const cuts = cutEvery(relay, CUT_BYTES, CUTS, (number) => {
    // Long enough for a person to see it.
    relay.refuses = number === 1;
  });
  await started.write("go\n");
  await page.getByText("The connection was lost").waitFor();
  relay.refuses = false;
  await expectShown(page, /^done$/m);
  expect(cuts()).toBe(CUTS);
  const lines = await everyLine(page);
  expect(lines.map(({ text }) => text)).toEqual([
    ...Array.from({ length: LINES }, (_, index) => `line-${index + 1}-${filling}`),
    "done",
  ]);
  await started.terminate();
  opened.expectClean();
});

it("after a restart of the server the page says what is gone, and shows the output of what is started then", async () => {
  await host.start(["sh", "-c", "echo before; exec sleep 600"], { keep: { name: "restarted" } });
  await using opened = await scene.open({ losesConnections: true });
  const { page } = opened;
  await page.goto(`${scene.server.origin}/p/restarted`);
  await expectShown(page, "before");
  await host.close();
  await scene.server.stop("SIGKILL");
  await page.getByText(/The connection was lost|The server cannot be reached/).waitFor();
  await scene.server.start();
  await page.getByText("There is no process restarted").waitFor();
  host = await scene.server.connect();
  await host.start(["sh", "-c", "echo after; exec sleep 600"], { keep: { name: "restarted" } });
  await expectShown(page, /^after$/);
  opened.expectClean();
});
