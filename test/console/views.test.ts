import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Host } from "../../src/client/host.ts";
import { launchChromium } from "../fixtures/launch-chromium.ts";
import { seriousFindings } from "./accessibility.ts";
import { ConsolePage } from "./console-page.ts";
import { ConsoleServer } from "./console-server.ts";
import { expectOnScreen, screenOf } from "./terminal-screen.ts";

/** SCREENSHOTS=docs/images writes a picture of every view there. */
const pictures = process.env["SCREENSHOTS"];
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const BUILD_LINES = [
  "\x1b[1mvite v8.1.5\x1b[0m building for production...",
  "\x1b[32m✓\x1b[0m 412 modules transformed.",
  "dist/index.html                   0.62 kB",
  "\x1b[36mdist/assets/\x1b[0mmain-8f2c41aa.js     61.30 kB",
  "\x1b[33m(!) Some chunks are larger than 500 kB\x1b[0m",
  "\x1b[32m✓\x1b[0m built in 1.84s",
];
const README = "# Weather\n\nShows the weather of the next days.\n\n```sh\nnpm start\n```\n";
const SOURCE = `import { createServer } from "node:http";

/** Answers with the weather of a place. */
export function serve(port: number): void {
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "/", "http://localhost");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ place: searchParams.get("place"), degrees: 21 }));
  });
  server.listen(port);
}
`;

let browser: Browser;
let server: ConsoleServer;
let host: Host;

beforeAll(async () => {
  [browser, server] = await Promise.all([launchChromium(), ConsoleServer.start({ args: ["--metrics"] })]);
  host = await server.connect();
  await makeScene();
});

afterAll(async () => {
  await host?.close();
  await Promise.all([browser?.close(), server?.[Symbol.asyncDispose]()]);
});

/** The project that is shown, and what runs for it. */
async function makeScene(): Promise<void> {
  const project = join(server.workDirectory, "weather");
  await mkdir(join(project, "src"), { recursive: true });
  await mkdir(join(project, "docs"));
  await writeFile(join(project, "README.md"), README);
  await writeFile(join(project, "src/server.ts"), SOURCE);
  await writeFile(join(project, "package.json"), '{ "name": "weather" }\n');
  const build = `printf '%b\\n' ${BUILD_LINES.map((line) => `'${line.replaceAll("\x1b", "\\033")}'`).join(" ")}; echo 'warning: no cache' >&2; exec sleep 3600`;
  const kept = (name: string) => ({ cwd: project, keep: { name } });
  await host.start(["sh", "-c", build], kept("build"));
  await host.start(
    ["sh", "-c", "while :; do date +'%T GET /?place=Oslo 200'; sleep 1; done"],
    kept("server"),
  );
  await (await host.start(["sh", "-c", "echo '14 tests passed'; exit 0"], kept("tests"))).exited;
  await host.terminal(["bash", "--norc", "-i"], {
    ...kept("shell"),
    env: { PS1: "weather $ " },
    cols: 100,
    rows: 30,
  });
}

/** The views, each with what shows that it is there. */
function views(): Record<string, { readonly path: string; readonly ready: (page: Page) => Promise<void> }> {
  const text = (wanted: string) => async (page: Page) => page.getByText(wanted).first().waitFor();
  const project = `/f${server.workDirectory}/weather`;
  return {
    processes: { path: "/p", ready: text("build") },
    output: { path: "/p/build", ready: text("built in") },
    terminals: { path: "/t/shell", ready: async (page) => expectOnScreen(screenOf(page), "weather $") },
    files: { path: project, ready: text("README.md") },
    editor: { path: `${project}/src/server.ts`, ready: text("createServer") },
    system: { path: "/s", ready: text("Sessions") },
  };
}

it.each(["light", "dark"] as const)(
  "every view, %s, on a desktop and a phone: axe finds nothing serious, and nothing is wider than the window",
  async (colorScheme) => {
    await using opened = await ConsolePage.open(browser, await server.newLink(), { colorScheme });
    await opened.ready();
    const { page } = opened;
    const findings: string[] = [];
    for (const [name, { path, ready }] of Object.entries(views())) {
      await page.goto(`${server.origin}${path}`);
      await opened.ready();
      await ready(page);
      for (const [device, size] of Object.entries(SIZES)) {
        await page.setViewportSize(size);
        await page.evaluate(
          () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        );
        const what = `${name} ${colorScheme} ${device}`;
        for (const finding of await seriousFindings(page)) findings.push(`${what}: ${finding}`);
        expect(await page.evaluate(() => document.documentElement.scrollWidth), what).toBeLessThanOrEqual(
          size.width,
        );
        if (pictures !== undefined) await takePicture(page, `${name}-${colorScheme}-${device}`);
      }
      await page.setViewportSize(SIZES.desktop);
    }
    expect(findings).toEqual([]);
    opened.expectClean();
  },
);

async function takePicture(page: Page, name: string): Promise<void> {
  const path = join(pictures!, `console-${name}.png`);
  await page.screenshot({ path });
  expect((await stat(path)).size).toBeLessThan(200_000);
}
