import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("../../scripts/fuzz.mjs", import.meta.url));
/** These take a fraction of a second each; `npm run fuzz -- --faults` tries all. */
const QUICK = ["audit", "fleet-frames", "helper-frames", "json-lines", "json-scan"];

/** What it prints; rejects with that if it fails. */
async function fuzz(...options: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, "--seed", "1", ...options]);
  return stdout;
}

test("no target finds a fault in its first inputs", async () => {
  expect(await fuzz("--cases", "150")).toMatch(/seed 1: \d{4} cases, 0 finds\n$/);
});

test("faults that are put into the sources are found", async () => {
  const targets = QUICK.flatMap((target) => ["--target", target]);
  expect(await fuzz("--faults", "--cases", "5000", ...targets)).toMatch(/seed 1: 5 of 5 faults found\n$/);
});
