// `npm run fuzz`: feeds what this project reads from others with inputs that are made from those that reach new branches.
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { bundleTarget } from "./fuzz/bundle.mjs";

const USAGE = `Usage: npm run fuzz -- [options]

Feeds parsers and protocols with mutated inputs, keeps those that reach new branches, and prints each find minimised.

  --minutes <n>     for how long, all targets together (default: 1)
  --cases <n>       instead: how many inputs for each target; the same ones for the same seed
  --target <name>   only this target; may be repeated
  --seed <n>        draw the same mutations again
  --replay <file>   try one input: a find, or a file of test/fuzz/corpus
  --faults          break the sources in the ways of test/fuzz/faults.ts, and see that each is found
  --list            print the targets
  --help            show this text
`;

const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const FOLDER = join(ROOT, ".cache/fuzz");
const TARGETS = join(ROOT, "test/fuzz/targets");
/** Inputs that once showed a fault, by target. */
const REGRESSIONS = join(ROOT, "test/fuzz/corpus");
/** Longer than any input takes, however busy the machine. */
const HANG_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
const HEAD_BYTES = 8;
const MAX_INPUT_BYTES = 1024 * 1024;
/** Each fault must be found within this many inputs. */
const FAULT_CASES = 100_000;
/** An input that needs more shows a fault. */
const MAX_HEAP_MB = 1024;

function readOptions() {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "1" },
      cases: { type: "string" },
      target: { type: "string", multiple: true },
      seed: { type: "string" },
      replay: { type: "string" },
      faults: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  for (const name of ["minutes", "cases", "seed"])
    if (values[name] !== undefined && !(Number(values[name]) >= 0))
      throw new Error(`--${name} must be a number`);
  return values;
}

const targetNames = () =>
  readdirSync(TARGETS)
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -3));

const inputsIn = (folder) =>
  existsSync(folder) ? readdirSync(folder).map((file) => readFileSync(join(folder, file))) : [];

const nameOf = (input) => createHash("sha256").update(input).digest("hex").slice(0, 16);

function save(folder, input) {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, nameOf(input));
  writeFileSync(file, input);
  return file;
}

/** Bundles a target and runs it in a worker. `kept` gets the inputs that reach new branches. */
async function run(target, job, { fault, kept = () => {} } = {}) {
  const outfile = join(FOLDER, `${target}-${process.pid}.mjs`);
  const { literals } = await bundleTarget(ROOT, target, { outfile, fault });
  const current = new SharedArrayBuffer(HEAD_BYTES + MAX_INPUT_BYTES);
  const directory = mkdtempSync(join(tmpdir(), "fuzz-"));
  const worker = new Worker(outfile, {
    workerData: { ...job, literals, current, directory },
    // It warns of descriptors that a server passes between its own parts.
    trackUnmanagedFds: false,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  try {
    return await reportOf(worker, current, kept);
  } finally {
    await worker.terminate();
    rmSync(outfile, { force: true });
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The report of a worker. One that hangs or ends is a find, too. */
function reportOf(worker, current, kept) {
  const [head, bytes] = [new Int32Array(current, 0, 2), new Uint8Array(current, HEAD_BYTES)];
  const find = (message) => ({
    cases: head[0],
    find: { input: Buffer.from(bytes.slice(0, head[1])), message },
  });
  return new Promise((resolve) => {
    let last = -1;
    let since = performance.now();
    const watch = setInterval(() => {
      const cases = Atomics.load(head, 0);
      if (cases !== last) [last, since] = [cases, performance.now()];
      else if (cases > 0 && performance.now() - since > HANG_MS) done(find("it does not end"));
    }, LOOK_EVERY_MS);
    const done = (report) => {
      clearInterval(watch);
      resolve(report);
    };
    worker.on("message", (message) => (message.kept === undefined ? done(message) : kept(message.kept)));
    worker.on("error", (error) => done(find(`the program fails: ${error.stack ?? error}`)));
    worker.on("exit", () => done(find("the program ends")));
  });
}

function printFind(target, { input, message }, seed) {
  const file = save(join(FOLDER, "finds", target), Buffer.from(input));
  console.log(`\nFOUND by ${target}, seed ${seed}: ${message}`);
  console.log(
    `  ${input.length} bytes: ${JSON.stringify(Buffer.from(input).toString("latin1")).slice(0, 400)}`,
  );
  console.log(`  again: npm run fuzz -- --replay ${file.slice(ROOT.length + 1)}\n`);
}

async function fuzz(targets, options, seed) {
  const milliseconds = (Number(options.minutes) * 60_000) / targets.length;
  let [total, finds] = [0, 0];
  for (const target of targets) {
    const started = performance.now();
    const corpus = inputsIn(join(REGRESSIONS, target));
    const own = join(FOLDER, "corpus", target);
    const isTimed = options.cases === undefined;
    const job = isTimed
      ? { seed, milliseconds, corpus: [...corpus, ...inputsIn(own)] }
      : { seed, cases: Number(options.cases), corpus };
    const report = await run(target, job, { kept: (input) => isTimed && save(own, input) });
    total += report.cases;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const reached =
      report.branches === undefined ? "" : `, ${report.branches} branches, ${report.corpus} inputs kept`;
    console.log(`${target.padEnd(18)} ${String(report.cases).padStart(9)} cases in ${seconds} s${reached}`);
    if (report.find === undefined) continue;
    finds += 1;
    printFind(target, report.find, seed);
  }
  console.log(`seed ${seed}: ${total} cases, ${finds} finds`);
  return finds === 0;
}

async function replay(file, [target = basename(dirname(file))]) {
  const { find } = await run(target, { replay: readFileSync(file), seed: 0, corpus: [] });
  console.log(find === undefined ? `${target}: no fault` : `${target}: ${find.message}`);
  return find === undefined;
}

/** Whether each fault is found in sources that have it. */
async function findFaults(seed, cases, targets) {
  const faults = (await loadFaults()).filter(({ target }) => targets.includes(target));
  let found = 0;
  for (const fault of faults) {
    const corpus = inputsIn(join(REGRESSIONS, fault.target));
    const { find, cases: tried } = await run(fault.target, { seed, cases, corpus }, { fault });
    if (find !== undefined) found += 1;
    const fate = find === undefined ? `NOT FOUND in ${tried} cases` : `found in case ${tried}`;
    console.log(`${fault.target.padEnd(18)} ${fault.what}: ${fate}`);
    if (find !== undefined) console.log(`${" ".repeat(19)}${find.message.split("\n", 1)[0]}`);
  }
  console.log(`seed ${seed}: ${found} of ${faults.length} faults found`);
  return found === faults.length;
}

async function loadFaults() {
  const { transform } = await import("esbuild");
  const source = readFileSync(join(ROOT, "test/fuzz/faults.ts"), "utf8");
  const { code } = await transform(source, { loader: "ts", format: "esm" });
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)).FAULTS;
}

async function main() {
  const options = readOptions();
  const targets = options.target ?? targetNames();
  const unknown = targets.find((name) => !targetNames().includes(name));
  if (unknown !== undefined) throw new Error(`'${unknown}' is not a target; see --list`);
  if (options.help || options.list) {
    console.log(options.help ? USAGE : targets.join("\n"));
    return true;
  }
  if (options.replay !== undefined) return replay(options.replay, options.target ?? []);
  const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 31));
  if (options.faults) return findFaults(seed, Number(options.cases ?? FAULT_CASES), targets);
  return fuzz(targets, options, seed);
}

process.exitCode = (await main()) ? 0 : 1;
