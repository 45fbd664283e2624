import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runSeed, SeededRandom } from "../../fault/seeded-random.ts";
import {
  controlSequences,
  floods,
  longStrings,
  otherSequences,
  STATES,
} from "../../fixtures/extreme-sequences.ts";
import { useConsole } from "../console-scene.ts";
import { workDuring } from "../page-work.ts";
import { expectOnScreen, screenOf } from "../terminal-screen.ts";

/** Processor time that the page may take without a break. Time that other programs take does not count. */
const MAX_TASK_MS = 250;
const FLOOD_BYTES = 1024;
const STRING_BYTES = 256 * 1024;
/** How long the browser takes to draw depends on what is shown, whatever it was made with. */
const VIEWPORT = { width: 640, height: 400 };

const scene = useConsole();

/** All sequences, in all modes. */
function sequences(): Readonly<Record<string, string>> {
  const random = new SeededRandom(runSeed);
  return Object.fromEntries(
    Object.entries(STATES).map(([name, state]) => [
      name,
      [...controlSequences(random), ...otherSequences(random)].map((one) => state + one).join(""),
    ]),
  );
}

it.each([
  ["every sequence with extreme parameters", sequences()],
  ["floods of short sequences", floods(FLOOD_BYTES)],
  ["long strings", longStrings(STRING_BYTES)],
])("%s on a terminal: the page never stands still", async (title, outputs) => {
  const name = title.replaceAll(" ", "-");
  const directory = join(scene.server.workDirectory, name);
  await mkdir(directory);
  // Everything that was set ends, and what waits for answers does not read them as commands.
  for (const [index, text] of Object.values(outputs).entries())
    await writeFile(join(directory, `${index}`), `${text}\u0018\u001bc`);
  await using host = await scene.server.connect();
  const script = `stty -echo; while read -r next; do cat "${directory}/$next" && echo "end-of-$next"; done`;
  const started = await host.terminal(["sh", "-c", script], { keep: { name } });
  await using opened = await scene.open({ viewport: VIEWPORT });
  const { page } = opened;
  await page.goto(`${scene.server.origin}/t/${name}`);
  const screen = screenOf(page);
  await screen.waitFor();
  const work = await workDuring(scene.browser, page, async () => {
    for (const index of Object.keys(outputs).keys()) {
      await started.write(`\n${index}\n`);
      await expectOnScreen(screen, `end-of-${index}`);
    }
  });
  process.stdout.write(`FAULT_SEED=${runSeed} ${title}: ${JSON.stringify(work)}\n`);
  expect(work.longestTaskMs, `FAULT_SEED=${runSeed}`).toBeLessThan(MAX_TASK_MS);
  await started.terminate();
  await started.detach({ forget: true });
  opened.expectClean();
});
