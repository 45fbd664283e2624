// Compares this server with the real `codex exec-server` on the same work over the wire.
import { writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { drawChart } from "../bench/chart.mjs";
import { listCases, readOptions, USAGE } from "../bench/options.mjs";
import { figureOf, requirementOf, stateOf } from "../bench/requirements.mjs";
import { runCase } from "../bench/run.mjs";
import {
  checkReachable,
  durableTarget,
  OURS,
  oursTarget,
  peerTarget,
  runningTarget,
} from "../bench/servers.mjs";
import { compare, formatTable, notesOf, requirementText } from "../bench/table.mjs";

async function findTargets({ target: urls, against, durable }) {
  const running = urls.map(runningTarget);
  for (const target of running) await checkReachable(target);
  const candidates = durable
    ? [durableTarget(), peerTarget(OURS)]
    : [oursTarget(), peerTarget(against), ...running];
  for (const { name, missing } of candidates) if (missing) console.log(`without ${name}: ${missing}`);
  const targets = candidates.filter(({ missing }) => !missing);
  if (targets.length === 0) throw new Error("no server to measure");
  return targets;
}

const canRun = (target, { benchCase, transport }) =>
  target.transports.includes(transport) && (target.ownsProcess || !benchCase.ownServers);

async function measure({ work, requirements, rounds, quick, states, ...options }) {
  const targets = await findTargets(options);
  const begun = performance.now();
  const rows = [];
  const notes = [];
  const clientCpu = {};
  for (const { benchCase, transport } of work) {
    const minutes = ((performance.now() - begun) / 60_000).toFixed(1);
    console.log(`\n# ${benchCase.name} over ${transport}: ${benchCase.about} (${minutes} min so far)`);
    const able = targets.filter((one) => canRun(one, { benchCase, transport }));
    const report = (line) => console.log(line);
    const measured = await runCase(benchCase, able, transport, { rounds, quick, states, report });
    for (const [state, results] of Object.entries(measured)) {
      rows.push(...compare(benchCase, transport, state, results, requirements));
      notes.push(...notesOf(benchCase, transport, state, results));
      clientCpu[`${benchCase.name} ${transport} ${state}`] = Object.fromEntries(
        Object.entries(results).map(([name, list]) => [name, list.map((result) => result.clientCpu ?? null)]),
      );
    }
  }
  return { rows, notes, clientCpu };
}

/** Each missed requirement of a case that ran, in words. */
function missed({ work, states, requirements }, rows) {
  const ran = requirements.filter(
    (one) =>
      states.includes(stateOf(one)) &&
      work.some(({ benchCase, transport }) => benchCase.name === one.case && transport === one.transport),
  );
  return ran.flatMap((one) => {
    const row = rows.find((candidate) => requirementOf([one], candidate) === one);
    if (row?.verdict === "pass") return [];
    const measured = row && figureOf(one, row);
    return [
      `${one.case} over ${one.transport}, ${stateOf(one)}, ${one.metric}: ${measured?.toFixed(3) ?? "not measured"}, ` +
        `required ${requirementText(one)}`,
    ];
  });
}

async function main() {
  const options = readOptions(process.argv.slice(2));
  if (options.help) return console.log(USAGE);
  if (options.list) return console.log(listCases());
  const { rows, notes, clientCpu } = await measure(options);
  console.log(
    `\nOnly the ratios (target / peer, median of the rounds) mean something beyond this machine and this run.\n${formatTable(rows)}`,
  );
  for (const note of notes) console.log(`note: ${note}`);
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg() };
  const date = new Date().toISOString();
  if (options.json) {
    await writeFile(options.json, `${JSON.stringify({ date, machine, rows, notes, clientCpu }, null, 2)}\n`);
  }
  if (options.svg) await writeFile(options.svg, drawChart(rows));
  const misses = missed(options, rows);
  for (const line of misses) console.log(`missed: ${line}`);
  if (options.assert && misses.length > 0) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
