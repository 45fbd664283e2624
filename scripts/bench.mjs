// Compares this server with the real `codex exec-server` by the same work over the wire.
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { CASES } from "../bench/cases/index.mjs";
import { runCase } from "../bench/run.mjs";
import { oursTarget, peerTarget, runningTarget } from "../bench/servers.mjs";
import { compare, formatTable } from "../bench/table.mjs";
import { THRESHOLDS } from "../bench/thresholds.mjs";

const USAGE = `npm run bench -- [options]
  --cases a,b        only these of: ${CASES.map(({ name }) => name).join(", ")}
  --rounds N         rounds per case, in turn between the servers (default 5)
  --quick            one small round
  --target ws://...  also measure a server that is already running
  --json FILE        write every sample
  --assert           exit 1 where a ratio is below its threshold`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      cases: { type: "string" },
      rounds: { type: "string", default: "5" },
      quick: { type: "boolean", default: false },
      target: { type: "string", multiple: true, default: [] },
      json: { type: "string" },
      assert: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const names = values.cases?.split(",") ?? CASES.map(({ name }) => name);
  const unknown = names.filter((name) => !CASES.some((benchCase) => benchCase.name === name));
  if (unknown.length > 0) throw new Error(`unknown case ${unknown.join(", ")}`);
  const rounds = values.quick ? 1 : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds must be a whole number above 0");
  return { ...values, rounds, cases: CASES.filter(({ name }) => names.includes(name)) };
}

function findTargets(urls) {
  const candidates = [oursTarget(), peerTarget(), ...urls.map(runningTarget)];
  for (const { name, missing } of candidates) if (missing) console.log(`without ${name}: ${missing}`);
  return candidates.filter(({ missing }) => !missing);
}

/** Every threshold of a case that ran; one without a ratio counts as missed. */
function missedThresholds(rows, cases) {
  return THRESHOLDS.filter(({ case: name }) => cases.some((benchCase) => benchCase.name === name)).flatMap(
    ({ case: name, metric, minRatio }) => {
      const row = rows.find((row) => row.case === name && row.metric === metric && row.target === "ours");
      const ratio = row?.ratio?.median;
      if (ratio >= minRatio) return [];
      return [
        `${name} ${metric}: ratio ${ratio?.toFixed(2) ?? "not measured"}, at least ${minRatio} is demanded`,
      ];
    },
  );
}

async function main() {
  const options = readOptions();
  if (options.help) return console.log(USAGE);
  const targets = findTargets(options.target);
  if (targets.length === 0) throw new Error("no server to measure");
  const rows = [];
  for (const benchCase of options.cases) {
    console.log(`\n# ${benchCase.name}: ${benchCase.about}`);
    const { rounds, quick } = options;
    const samples = await runCase(benchCase, targets, { rounds, quick, report: (line) => console.log(line) });
    rows.push(...compare(benchCase, samples));
  }
  console.log(`\nOnly the ratios mean something beyond this machine and this run.\n${formatTable(rows)}`);
  if (options.json)
    await writeFile(options.json, `${JSON.stringify({ node: process.version, rows }, null, 2)}\n`);
  if (!options.assert) return;
  const missed = missedThresholds(rows, options.cases);
  for (const line of missed) console.error(`FAILED ${line}`);
  if (missed.length > 0) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
