import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { groups, requirements } from "./requirements.ts";
import type { Requirement } from "./requirements/requirement.ts";

const MINIMUM_REQUIREMENTS = 150;

const all: [string, Requirement][] = Object.entries(requirements);
const cited = readdirSync(import.meta.dirname)
  .filter((name) => name.endsWith(".test.ts") && name !== "coverage.test.ts")
  .flatMap((name) => {
    const source = readFileSync(`${import.meta.dirname}/${name}`, "utf8");
    return [...source.matchAll(/\bverifies\(\s*(["'`])(.+?)\1/g)].map((match) => match[2] ?? "");
  });

test("every requirement has a test", () => {
  const verified = new Set(cited);
  expect(all.map(([id]) => id).filter((id) => !verified.has(id))).toEqual([]);
});

test("every test cites a known requirement", () => {
  const ids = new Set(all.map(([id]) => id));
  expect(cited.filter((id) => !ids.has(id))).toEqual([]);
});

test("no requirement id is defined in two groups", () => {
  const ids = groups.flatMap((group) => Object.keys(group));
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

test("a rule of one server only says in a note what the other does", () => {
  const silent = all.filter(([, { origin, note }]) => origin !== undefined && !note).map(([id]) => id);
  expect(silent).toEqual([]);
});

test(`there are at least ${MINIMUM_REQUIREMENTS} requirements`, () => {
  const perSection = new Map<string, number>();
  for (const [, { section }] of all) perSection.set(section, (perSection.get(section) ?? 0) + 1);
  const lines = [...perSection]
    .toSorted(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))
    .map(([section, count]) => `  ${section.padEnd(6)} ${count}`);
  process.stdout.write(`requirements per section\n${lines.join("\n")}\n  all    ${all.length}\n`);
  expect(all.length).toBeGreaterThanOrEqual(MINIMUM_REQUIREMENTS);
});
