import { execFile } from "node:child_process";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { seriousFindings } from "./accessibility.ts";
import { useConsole } from "./console-scene.ts";
import { pressTogether } from "./press-together.ts";
import { runningAnimations, settled } from "./settled.ts";
import { expectOnScreen, openDock, screenOf } from "./terminal-screen.ts";

/** SCREENSHOTS=docs/images writes a picture of every view there. */
const pictures = process.env["SCREENSHOTS"];
/** Length of the path of a chart with some twenty values. */
const FULL_CHART = 160;
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
/** A build, as its script. */
const BUILD = `#!/bin/sh
printf '\\033[1mvite v8.1.5\\033[0m building for production...\\n'
printf '\\033[32m✓\\033[0m 412 modules transformed.\\n'
printf 'dist/index.html                   0.62 kB\\n'
printf '\\033[36mdist/assets/\\033[0mmain-8f2c41aa.js     61.30 kB\\n'
echo '(!) Some chunks are larger than 500 kB' >&2
printf '\\033[32m✓\\033[0m built in 1.84s, watching\\n'
exec sleep 3600
`;
/** A server that writes a line for every request. */
const LOG = `#!/bin/bash
for ((i = 0; ; i++)); do
  printf '%(%T)T GET /?place=%s \\033[32m200\\033[0m %d ms\\n' -1 "$(shuf -n 1 -e Oslo Lima Accra Osaka)" $((i * 7 % 23))
  sleep 0.$((RANDOM % 5 + 1))
done
`;
/** What is asked about each place; one is not known. */
const PLACES = ["Accra", "Lima", "Oslo", "Osaka", "Atlantis", "Quito", "Hanoi", "Dakar", "Turin", "Perth"];
const FORECAST = 'test "$1" != Atlantis || { echo "no such place" >&2; exit 1; }; echo "sunny in $1"';
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

const run = promisify(execFile);

const scene = useConsole();
let host: Host;

beforeAll(async () => {
  host = await scene.server.connect();
  await makeScene();
});

afterAll(async () => {
  await host?.close();
});

/** The project that is shown, and what runs for it. */
async function makeScene(): Promise<void> {
  const project = join(scene.server.workDirectory, "weather");
  await mkdir(join(project, "src"), { recursive: true });
  await mkdir(join(project, "docs"));
  await writeFile(join(project, "README.md"), README);
  await writeFile(join(project, "src/server.ts"), SOURCE);
  await writeFile(join(project, "package.json"), '{ "name": "weather" }\n');
  await writeFile(join(project, "build.sh"), BUILD, { mode: 0o755 });
  await writeFile(join(project, "serve.sh"), LOG, { mode: 0o755 });
  await writeFile(join(project, "places.csv"), `place\n${PLACES.join("\n")}\n`);
  const map = ["map", "--url", scene.server.webSocketUrl, "-o", "forecast.csv", "places.csv", "--"];
  // It says by its status that a row has failed.
  const done = await run(process.execPath, [builtCli, ...map, "sh", "-c", FORECAST, "sh", "{place}"], {
    cwd: project,
    env: scene.server.environment,
  }).catch((error: unknown) => error);
  expect(String(done)).toContain("Atlantis");
  const kept = (name: string) => ({ cwd: project, keep: { name } });
  await host.start(["./build.sh", "--watch"], kept("build"));
  await host.start(["./serve.sh", "--port", "8080"], kept("server"));
  const listening = (port: number) => [
    process.execPath,
    "-e",
    `require("net").createServer().listen(${pictures === undefined ? 0 : port}, "127.0.0.1")`,
  ];
  await host.start(listening(5173), kept("preview"));
  await host.start(listening(8080), kept("weather-api"));
  await (await host.start(["sh", "-c", "echo '14 tests passed'"], kept("tests"))).exited;
  const shell = await host.terminal(["bash", "--norc", "-i"], {
    ...kept("shell"),
    env: { PS1: "\\[\\e[36m\\]weather\\[\\e[0m\\] $ ", TERM: "xterm-256color" },
  });
  await shell.write("ls --color=always -la\ncat src/server.ts\n");
}

/** The views, each with what shows that it is there. */
function views(): Record<string, { readonly path: string; readonly ready: (page: Page) => Promise<void> }> {
  const text = (wanted: string) => async (page: Page) => page.getByText(wanted).first().waitFor();
  const project = `/f${scene.server.workDirectory}/weather`;
  return {
    processes: { path: "/p", ready: pictures === undefined ? text("build") : chartsAreFull },
    output: { path: "/p/build", ready: text("built in") },
    terminals: { path: "/t/shell", ready: async (page) => expectOnScreen(screenOf(page), "server.listen") },
    files: { path: project, ready: text("README.md") },
    editor: { path: `${project}/src/server.ts`, ready: text("createServer") },
    inspector: { path: "/i/process/start", ready: text("closeStdin") },
    messages: {
      path: "/i/messages",
      ready: async (page) => {
        // Those of another view, which the inspector has watched.
        await page.getByRole("heading", { name: "Inspector" }).waitFor();
        await pressTogether(page, "gp");
        await text("build")(page);
        await page.goBack();
        await text("process/list")(page);
      },
    },
    rows: {
      path: `/r${scene.server.workDirectory}/weather/forecast.csv.ledger`,
      ready: text("no such place"),
    },
    ports: { path: "/o", ready: text("weather-api") },
    start: {
      path: "/p",
      ready: async (page) => {
        await page.getByRole("button", { name: "Start" }).first().click();
        await page.getByRole("dialog").waitFor();
      },
    },
    system: { path: "/s", ready: text("Sessions") },
  };
}

it.each(["light", "dark"] as const)(
  "every view, %s, on a desktop and a phone: axe finds nothing serious, and nothing is wider than the window",
  async (colorScheme) => {
    await using opened = await scene.open({ colorScheme });
    const { page } = opened;
    const findings: string[] = [];
    for (const [name, { path, ready }] of Object.entries(views())) {
      await page.goto(`${scene.server.origin}${path}`);
      await opened.ready();
      await ready(page);
      for (const [device, size] of Object.entries(SIZES)) {
        await page.setViewportSize(size);
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

it("for those who want no motion, colours change at once, and nothing blinks", async () => {
  await using opened = await scene.open({ colorScheme: "light", reducedMotion: "reduce" });
  const { page } = opened;
  const { path, ready } = views()["editor"]!;
  await page.goto(`${scene.server.origin}${path}`);
  await opened.ready();
  await ready(page);
  // Looked at before the next frame, so that nothing short is missed.
  const seen = await page.getByRole("button", { name: "Dark colours" }).evaluate((button: HTMLElement) => {
    const before = getComputedStyle(document.body).backgroundColor;
    button.click();
    const durations = ["", "::before", "::after"].flatMap((part) =>
      Array.from(document.querySelectorAll("*"), (one) => getComputedStyle(one, part).transitionDuration),
    );
    return {
      isChanged: getComputedStyle(document.body).backgroundColor !== before,
      changing: document.getAnimations().filter((animation) => animation instanceof CSSTransition).length,
      durations: [...new Set(durations)],
    };
  });
  expect(seen).toEqual({ isChanged: true, changing: 0, durations: ["0s"] });
  // The mark of the place where one types.
  await page.locator(".cm-content").click();
  await page.locator(".cm-focused .cm-cursor").first().waitFor({ state: "attached" });
  expect(
    await page.locator(".cm-cursorLayer").evaluate((layer) => getComputedStyle(layer).animationName),
  ).toMatch(/^cm-blink/);
  await expect.poll(() => runningAnimations(page)).toEqual([]);
  opened.expectClean();
});

/** The charts of processes have something to show. */
async function chartsAreFull(page: Page): Promise<void> {
  await openDock(page);
  const points = () =>
    page.evaluate(() =>
      Math.max(
        ...Array.from(document.querySelectorAll(".sparkline-line"), (line) => line.getAttribute("d")!.length),
      ),
    );
  await expect.poll(points).toBeGreaterThan(FULL_CHART);
}

async function takePicture(page: Page, name: string): Promise<void> {
  const path = join(pictures!, `console-${name}.png`);
  await settled(page);
  await page.screenshot({ path });
  expect((await stat(path)).size).toBeLessThan(200_000);
}
