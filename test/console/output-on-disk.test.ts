import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, it } from "vitest";
import { ConsolePage } from "./console-page.ts";
import { ConsoleScene } from "./console-scene.ts";
import { runCli } from "../fault/durable-server.ts";
import { expectShown } from "./output-screen.ts";

const parent = mkdtempSync("/var/tmp/console-durable-");
const directory = join(parent, "d");
const scene = new ConsoleScene();

afterAll(async () => {
  await scene.end();
  await runCli(["durable", "end", directory]);
  rmSync(parent, { recursive: true, force: true });
});

it("the page reaches back to the first line, part by part, and to the end again", async () => {
  await scene.start({ args: ["--durable", directory] });
  // A durable server gives no other links.
  const { page } = await (await ConsolePage.open(scene.browser, scene.server.link)).ready();
  await using host = await scene.server.connect();
  // More than memory keeps, and than the page reads at once.
  const argv = ["seq", "-f", "this is line number %.0f", "150000"];
  await (await host.start(argv, { keep: { name: "build" } })).closed;
  const last = "this is line number 150000";
  await page.goto(`${scene.server.origin}/p/build`);
  await expectShown(page, last);
  await page.getByRole("button", { name: "Show from the beginning" }).click();
  await expectShown(page, /^this is line number 1\n/);
  await page.getByRole("button", { name: "Show more" }).click();
  await page.getByRole("button", { name: "Show more" }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: /^(?:Follow|To the end)$/ }).click();
  await expectShown(page, last);
  await page.getByRole("button", { name: "Show the latest output" }).click();
  await page.getByText("The server has earlier output on disk.").waitFor();
  await expectShown(page, last);
});
