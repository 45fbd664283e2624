// `npm run mutate`: changes the sources in small ways, one at a time, and counts the changes that no test notices.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Coverage } from "./mutate/coverage.mjs";
import { draw, findMutants } from "./mutate/drawing.mjs";
import { Lane } from "./mutate/lane.mjs";
import { findUnitTests, planOf, suitesOf, targetOf } from "./mutate/plan.mjs";
import { TARGETS } from "./mutate/targets.mjs";

const USAGE = `Usage: npm run mutate -- [options]

Draws mutations of the sources, tries each in a private copy, and lists those that no test notices. Needs root, and
what \`npm test\` needs; run \`npm run build\` first.

  --seed <n>             draw the same mutations again
  --count <n>            how many are drawn (default: 300)
  --files <part>         only files whose path contains this
  --units                only unit tests, which is quick
  --fresh                look again which tests run what
  --resume               go on with a run of the same seed that was interrupted
  --list                 print what is drawn, and try nothing
  --survivors-of <file>  try what this file lists: a report of an earlier run (.cache/mutate/survivors.json)
  --lanes <n>            how many are tried at a time (default: one for each core)
  --help                 show this text
`;

const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const FOLDER = join(ROOT, ".cache/mutate");
/** Of those drawn, how many may survive. */
const MAX_SURVIVING = 0.03;

function readOptions() {
  const { values } = parseArgs({
    options: {
      seed: { type: "string" },
      count: { type: "string", default: "300" },
      files: { type: "string" },
      units: { type: "boolean", default: false },
      fresh: { type: "boolean", default: false },
      resume: { type: "boolean", default: false },
      list: { type: "boolean" },
      "survivors-of": { type: "string" },
      lanes: { type: "string", default: String(availableParallelism()) },
      help: { type: "boolean" },
    },
  });
  return values;
}

function choose(options) {
  const all = findMutants(ROOT, options.files);
  if (options["survivors-of"] !== undefined) {
    const wanted = new Set(JSON.parse(readFileSync(options["survivors-of"], "utf8")).map(({ key }) => key));
    const found = all.filter((mutant) => wanted.has(mutant.key));
    console.log(`${found.length} of ${wanted.size} mutations of ${options["survivors-of"]} still exist`);
    return found;
  }
  const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 31));
  const drawn = draw(all, Number(options.count), seed);
  console.log(`seed ${seed}: ${drawn.length} of ${all.length} mutations`);
  return drawn;
}

/** Runs `work` in each of some private copies at once, until it is done or interrupted. */
async function inLanes(count, work) {
  const lanes = Array.from({ length: count }, (_, at) => new Lane(ROOT, join(FOLDER, `lane-${at + 1}`)));
  const stop = (signal) => {
    for (const lane of lanes) lane.stop();
    if (signal === undefined) return;
    console.log(`interrupted by ${signal}`);
    process.exit(1);
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  await Promise.all(lanes.map(work));
  stop();
  process.off("SIGINT", stop).off("SIGTERM", stop);
  return lanes;
}

/** Finds out which tests run what. */
async function findCoverage(mutants, options, units) {
  const file = join(FOLDER, "coverage.json");
  if (options.fresh) rmSync(file, { force: true });
  const coverage = new Coverage(ROOT, file);
  const targets = new Set(mutants.map((mutant) => targetOf(mutant.file)));
  const wanted = [...units, ...(options.units ? [] : [...targets].flatMap(suitesOf))];
  const missing = coverage.missing(wanted);
  if (missing.length === 0) return coverage;
  const waiting = [...missing];
  await inLanes(Number(options.lanes), (lane) =>
    coverage.collect(
      lane,
      () => (lane.isStopped ? undefined : waiting.shift()),
      ({ test }) => {
        console.log(`looked at ${missing.length - waiting.length}/${missing.length} | ${test}`);
        coverage.save();
      },
    ),
  );
  return coverage;
}

async function tryAll(mutants, options) {
  const units = findUnitTests(ROOT);
  const coverage = await findCoverage(mutants, options, units);
  const tried = options.resume ? triedBefore(mutants) : [];
  const waiting = mutants.filter(({ key }) => !tried.some((one) => one.key === key));
  const lanes = await inLanes(Number(options.lanes), async (lane) => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const started = performance.now();
      const plan = planOf(mutant, { coverage, units, isUnitsOnly: options.units });
      const outcome = await lane.try(mutant, plan);
      if (lane.isStopped) return;
      const seconds = Math.round((performance.now() - started) / 1000);
      tried.push({ ...mutant, ...outcome, seconds, tests: countOf(plan) });
      tell(tried, mutants.length);
      writeReport(tried);
    }
  });
  for (const test of new Set(lanes.flatMap((lane) => lane.unsound)))
    console.log(`${test} fails without a mutation, and was left out`);
  return tried;
}

/** What an interrupted run has found out about these mutations. */
function triedBefore(mutants) {
  const report = join(FOLDER, "tried.json");
  const before = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : [];
  return before.filter(({ key }) => mutants.some((mutant) => mutant.key === key));
}

/** How many tests, and whole files, try a mutation. */
function countOf({ jobs }) {
  const titles = jobs.flatMap((job) => job.titles ?? []).length;
  const files = jobs.filter((job) => job.titles === undefined).flatMap((job) => job.tests).length;
  return `${titles} tests, ${files} files`;
}

function tell(tried, count) {
  const { file, line, operator, state, test, tests, seconds } = tried.at(-1);
  const alive = tried.filter(isAlive).length;
  const fate = state === "passed" ? `SURVIVED (${tests})` : `${state}: ${test ?? "the tests"}`;
  console.log(
    `${tried.length}/${count}, ${alive} alive | ${seconds} s | ${file}:${line} ${operator} | ${fate}`,
  );
}

const isAlive = ({ state }) => state === "passed";

function writeReport(tried) {
  writeFileSync(join(FOLDER, "tried.json"), JSON.stringify(tried, undefined, 1));
  writeFileSync(join(FOLDER, "survivors.json"), JSON.stringify(tried.filter(isAlive), undefined, 1));
}

/** The line of a mutation, and the lines that it changes, before and after. */
function shown(mutant) {
  const { file, start, end, to } = mutant;
  const source = readFileSync(join(ROOT, file), "utf8");
  const from = source.lastIndexOf("\n", start - 1) + 1;
  const until = source.indexOf("\n", end);
  const lines = (text, mark) => text.split("\n").map((line) => `  ${mark} ${line}`);
  const before = source.slice(from, until);
  const after = source.slice(from, start) + to + source.slice(end, until);
  const diff = [...lines(before, "-"), ...lines(after, "+")].join("\n");
  return { ...mutant, line: source.slice(0, start).split("\n").length, diff };
}

function printResult(tried) {
  const explained = JSON.parse(readFileSync(join(ROOT, "scripts/mutate/explained.json"), "utf8"));
  const whyOf = new Map(Object.entries(explained));
  const survivors = tried.filter(isAlive);
  for (const mutant of survivors) {
    console.log(`\n${mutant.file}:${mutant.line} ${mutant.operator} in ${mutant.within}\n${mutant.diff}`);
    console.log(`  ${whyOf.get(mutant.key) ?? "NOT EXPLAINED"}`);
  }
  const rows = TARGETS.map(({ folder }) => {
    const own = tried.filter(({ file }) => file.startsWith(`${folder}/`));
    return { folder, tried: own.length, survived: own.filter(isAlive).length };
  });
  console.log(`\n${"folder".padEnd(28)} tried survived`);
  for (const { folder, tried, survived } of rows)
    if (tried > 0)
      console.log(`${folder.padEnd(28)} ${String(tried).padStart(5)} ${String(survived).padStart(8)}`);
  const share = survivors.length / Math.max(tried.length, 1);
  console.log(`\n${tried.length} mutations, ${survivors.length} survived (${(100 * share).toFixed(1)} %)`);
  const unexplained = survivors.filter((mutant) => !whyOf.has(mutant.key));
  return share <= MAX_SURVIVING && unexplained.length === 0;
}

async function main() {
  const options = readOptions();
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const mutants = choose(options).map(shown);
  if (options.list) {
    for (const { file, line, operator, diff } of mutants)
      console.log(`\n${file}:${line} ${operator}\n${diff}`);
    return 0;
  }
  mkdirSync(FOLDER, { recursive: true });
  const tried = await tryAll(mutants, options);
  return printResult(tried) && tried.length === mutants.length ? 0 : 1;
}

process.exitCode = await main();
