import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import { seriousFindings } from "./accessibility.ts";
import { ConsolePage } from "./console-page.ts";
import { useConsole } from "./console-scene.ts";
import { ConsoleServer } from "./console-server.ts";
import { expectShown } from "./output-screen.ts";
import { expectOnScreen, screenOf } from "./terminal-screen.ts";

const scene = useConsole();
let host: Host;
let opened: ConsolePage;
let page: Page;
let dialog: Locator;

beforeAll(async () => {
  host = await scene.server.connect();
  opened = await scene.open();
  ({ page } = opened);
  dialog = page.getByRole("dialog", { name: "Start a process" });
});

afterAll(async () => {
  await host?.close();
});

/** Opens the dialog by its key, from the list. */
async function open(): Promise<void> {
  await page.getByRole("link", { name: "Processes", exact: true }).click();
  await page.getByRole("heading", { name: "Processes" }).waitFor();
  await page.locator("body").press("n");
  await dialog.waitFor();
}

async function isListed(name: string): Promise<boolean> {
  return (await host.processes({ scope: "kept" })).some((process) => process.name === name);
}

const words = (): Promise<string[]> => dialog.locator(".start-words code").allInnerTexts();
const faultAt = (label: string): Promise<string> =>
  dialog.getByLabel(label, { exact: true }).evaluate((field) => {
    const described = document.getElementById(field.getAttribute("aria-describedby") ?? "");
    return `${field.getAttribute("aria-invalid")}: ${described?.textContent}`;
  });

it("a command is split as a shell would, what only a shell understands runs in one, and both are shown", async () => {
  await open();
  const command = dialog.getByLabel("Command", { exact: true });
  await command.fill(`printf '%s|' "two words" it\\'s '' "a \\"b\\""`);
  await expect.poll(words).toEqual(["printf", "%s|", "two words", "it's", "''", 'a "b"']);
  expect(await dialog.getByLabel("Run in a shell").isChecked()).toBe(false);
  await command.fill("echo one | tr o 0 && echo $HOME");
  await expect.poll(words).toEqual(["/bin/bash", "-c", "echo one | tr o 0 && echo $HOME"]);
  await dialog.getByText("because of |").waitFor();
  expect(await dialog.getByLabel("Run in a shell").isChecked()).toBe(true);
  await command.fill("echo 'open");
  await page.keyboard.press("Enter");
  await expect.poll(() => faultAt("Command")).toBe("true: The quote ' is not closed.");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
});

it("by keys alone: a command, its name, directory, input and variables; its output is shown, and it is remembered", async () => {
  await mkdir(join(scene.server.workDirectory, "inside"));
  await open();
  await page.keyboard.type(`sh -c 'pwd; echo "$GREETING"; read line; echo "read $line"'`);
  await page.keyboard.press("Tab");
  const has = (label: string | RegExp) =>
    dialog.getByLabel(label).evaluate((field) => field.matches(":focus"));
  expect(await has("Run in a shell")).toBe(true);
  await page.keyboard.press("Tab");
  expect(await has("With pipes")).toBe(true);
  await page.keyboard.press("Tab");
  expect(await has("Accept input")).toBe(true);
  await page.keyboard.press("Space");
  await page.keyboard.press("Tab");
  expect(await has("Name")).toBe(true);
  await page.keyboard.press("Control+A");
  await page.keyboard.type("by-keys");
  await page.keyboard.press("Tab");
  expect(await has("Working directory")).toBe(true);
  await page.keyboard.press("End");
  await page.keyboard.type("/ins");
  // What is there is offered.
  await expect
    .poll(() =>
      dialog.locator("datalist option").evaluateAll((all) => all.map((one) => one.getAttribute("value"))),
    )
    .toEqual([join(scene.server.workDirectory, "inside")]);
  await page.keyboard.type("ide");
  await page.keyboard.press("Tab");
  expect(await has("Sandbox")).toBe(true);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect.poll(() => has("Name of a variable")).toBe(true);
  await page.keyboard.type("GREETING");
  await page.keyboard.press("Tab");
  await page.keyboard.type("hello <b>there</b>");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "hidden" });
  await page.getByRole("heading", { name: "by-keys" }).waitFor();
  await expectShown(page, `${join(scene.server.workDirectory, "inside")}\nhello <b>there</b>`);
  await page.getByRole("textbox", { name: "Input" }).fill("it");
  await page.keyboard.press("Enter");
  await expectShown(page, "read it");
  await page.getByText(/^Exited with status 0\./).waitFor();
  // Values of variables are not kept.
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain("hello");
  await open();
  await page.keyboard.press("ArrowDown");
  await dialog.getByRole("option", { name: /GREETING/ }).waitFor();
  await page.keyboard.press("Enter");
  expect(await dialog.getByLabel("Command", { exact: true }).inputValue()).toContain("pwd; echo");
  expect(await dialog.getByLabel("Working directory").inputValue()).toBe(
    join(scene.server.workDirectory, "inside"),
  );
  expect(await dialog.getByLabel("Accept input").isChecked()).toBe(true);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
});

it("what cannot be started is said at its field with a remedy, and the field has the keyboard", async () => {
  await open();
  const command = dialog.getByLabel("Command", { exact: true });
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("aria-invalid"));
  await page.keyboard.press("Enter");
  await expect.poll(() => faultAt("Command")).toBe("true: Type a command.");
  await command.fill("no-such-program --at-all");
  await page.keyboard.press("Enter");
  await expect.poll(() => faultAt("Command")).toMatch(/^true: .*no-such-program.*Install the program/);
  await expect.poll(focused).toBe("true");
  await command.fill("true");
  await dialog.getByLabel("Working directory").fill("/no/such/directory");
  await page.keyboard.press("Enter");
  await expect
    .poll(() => faultAt("Working directory"))
    .toMatch(/^true: .*Choose a working directory that exists/);
  await dialog.getByLabel("Working directory").fill(scene.server.workDirectory);
  await dialog.getByLabel("Name", { exact: true }).fill("not a name");
  await page.keyboard.press("Enter");
  await expect.poll(() => faultAt("Name")).toMatch(/^true: A name has up to 128 letters/);
  await using running = await host.start(["sleep", "600"], { keep: { name: "taken" } });
  await dialog.getByLabel("Name", { exact: true }).fill("taken");
  await page.keyboard.press("Enter");
  await expect.poll(() => faultAt("Name")).toMatch(/^true: .*Choose another name/);
  await dialog.getByLabel("Name", { exact: true }).fill("free");
  await dialog.getByRole("button", { name: "Add a variable" }).click();
  await dialog.getByLabel("Name of a variable").fill("A=B");
  await page.keyboard.press("Enter");
  await dialog.getByText("The name A=B has an equals sign.").waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  expect(await isListed("free")).toBe(false);
  await dialog.getByLabel("Name of a variable").fill("A");
  await page.keyboard.press("Enter");
  await page.getByText(/^Exited with status 0\./).waitFor();
  await running.terminate();
});

it("a terminal opens as one, and a sandbox holds", async () => {
  await open();
  await page.keyboard.type("cat");
  await dialog.getByLabel("On a terminal").check();
  await page.keyboard.press("Enter");
  await expect.poll(() => new URL(page.url()).pathname).toBe("/t/cat");
  const screen = screenOf(page);
  await screen.locator(".xterm-rows").waitFor();
  await screen.click();
  await page.keyboard.type("echoed");
  await page.keyboard.press("Enter");
  await expectOnScreen(screen, "echoed\nechoed");
  await open();
  await page.keyboard.type("sh -c 'echo x > made || echo refused'");
  await dialog.getByLabel("Sandbox").selectOption("read-only");
  await page.keyboard.press("Enter");
  await expectShown(page, /^refused$/m);
  await expect(readFile(join(scene.server.workDirectory, "made"))).rejects.toThrow("ENOENT");
  opened.expectClean();
});

it("a server without a sandbox says so, and what to do about it", async () => {
  await using bare = await ConsoleServer.start({ env: { PATH: "/nonexistent" } });
  await using other = await ConsolePage.open(scene.browser, bare.link);
  await other.ready();
  await other.page.getByRole("button", { name: "Start", exact: true }).click();
  const sandbox = other.page.getByLabel("Sandbox");
  await other.page.getByText(/Not available on this server.*exec-server doctor/).waitFor();
  expect(await sandbox.isDisabled()).toBe(true);
  other.expectClean();
});
