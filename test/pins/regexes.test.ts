import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../scripts/check-regexes.mjs", import.meta.url));
const TIMEOUT_MS = 60_000;

function check(source: string): { status: number | null; faults: string } {
  const directory = mkdtempSync(join(tmpdir(), "regexes-"));
  try {
    writeFileSync(join(directory, "planted.ts"), source);
    const { status, stderr } = spawnSync(process.execPath, [SCRIPT, directory], { encoding: "utf8" });
    return { status, faults: stderr };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

it.each([
  ["slashes at an end", "export const trim = (text: string) => text.replace(/\\/+$/, '');"],
  ["repeats in repeats", "const nested = /^(?:a+)+$/;"],
  ["several wildcards", "const wild = /^.*a.*a.*b$/s;"],
  ["text that becomes one", "const made = new RegExp('\\\\s+$');"],
  ["one made at run time", "export const made = (name: string) => new RegExp(`^${name}$`);"],
  ["one made by a call", "export const made = (name: string) => RegExp(name);"],
  [
    "one that a method makes of a value",
    "export const found = (text: string, name: string) => text.search(name);",
  ],
  ["one that a method makes", "export const found = 'x'.match('(a+)+$');"],
])(
  "the check of regular expressions finds %s",
  (_, source) => {
    const { status, faults } = check(source);
    expect({ status, faults }).toEqual({ status: 1, faults: expect.stringContaining("planted.ts: ") });
  },
  TIMEOUT_MS,
);

it(
  "it lets simple ones pass",
  () => {
    const source = "export const good = [/^[a-z]+$/, /^(?<name>[^=]*)=/, new RegExp('^x$', 'i')];";
    expect(check(source)).toEqual({ status: 0, faults: "" });
  },
  TIMEOUT_MS,
);
