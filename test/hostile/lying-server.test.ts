import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { methods, notifications } from "../../src/protocol/index.ts";
import { bundleScript } from "../client/bundled-script.ts";
import { hostileRounds, hostileSeed, withSeed } from "./hostile-run.ts";

const CLIENT = new URL("../../src/client/", import.meta.url);
/** The report is printed at the end; then the program must end on its own. */
const END_MS = 600_000 + 60_000 * hostileRounds;
const MAX_PEAK_MIB = 700;
/** Of ten floods of 300 MiB each. */
const MAX_FLOODED_MIB = 300;

interface Report {
  readonly failures: readonly string[];
  readonly stats: { readonly scenarios: number; readonly resolved: number; readonly rejected: number };
  readonly heard?: readonly string[];
  readonly told?: readonly string[];
  readonly sent?: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly peakMiB: number;
}

async function run(plan: object): Promise<Report> {
  await using script = await bundleScript("../hostile/lying-server-run.ts");
  const args = ["--enable-source-maps", script.path, JSON.stringify({ seed: hostileSeed, ...plan })];
  // Rejects when the program does not end, or not well.
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    timeout: END_MS,
    maxBuffer: 2 ** 24,
  });
  const report = JSON.parse(stdout) as Report;
  const { stats, seconds, peakMiB } = report;
  process.stdout.write(
    `lying server: ${stats.scenarios} scenarios, ${stats.resolved} values, ${stats.rejected} errors, ${seconds.toFixed(1)} s, ${peakMiB.toFixed(0)} MiB\n`,
  );
  return report;
}

/** Names of the wire that the client's code spells, beside its generated table of methods. */
function namedByClient(names: readonly string[]): string[] {
  const files = readdirSync(CLIENT, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.endsWith("wire-shapes.ts"),
  );
  const code = files.map((file) => readFileSync(new URL(file, CLIENT), "utf8")).join("\n");
  return names.filter((name) => code.includes(`"${name}"`));
}

describe("a server that lies", () => {
  it(
    "gets the program neither down nor stuck, and no value through that the types forbid",
    () =>
      withSeed(async () => {
        const share = Math.min(1, 0.06 * hostileRounds);
        const report = await run({
          share,
          orders: 10 * hostileRounds,
          onSockets: 25 * hostileRounds,
          floods: false,
        });
        expect(report.failures).toEqual([]);
        expect(report.peakMiB).toBeLessThan(MAX_PEAK_MIB);
        // Nothing that the client reads is left out.
        const unanswered = ["process/flow", "http/flow", "http/cancel"];
        const asked = namedByClient(Object.keys(methods)).filter((name) => !unanswered.includes(name));
        expect(asked.filter((name) => !report.heard?.includes(name))).toEqual([]);
        const read = namedByClient(Object.keys(notifications)).filter((name) => name !== "initialized");
        expect(read.filter((name) => !report.told?.includes(name))).toEqual([]);
        expect(report.stats.resolved).toBeGreaterThan(100);
        expect(report.stats.rejected).toBeGreaterThan(100);
      }),
    END_MS + 30_000,
  );

  it(
    "cannot make a client keep what nobody comes for",
    () =>
      withSeed(async () => {
        const report = await run({ share: 0, orders: 0, onSockets: 0, floods: true });
        expect(report.failures).toEqual([]);
        expect(Object.values(report.sent ?? {}).every((bytes) => bytes >= 300 * 1024 * 1024)).toBe(true);
        expect(report.peakMiB).toBeLessThan(MAX_FLOODED_MIB);
      }),
    END_MS + 30_000,
  );
});
