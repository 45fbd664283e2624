import { parseArgs } from "node:util";
import { CASES } from "./cases/index.mjs";
import { GUARD, REQUIREMENTS, stateOf } from "./requirements.mjs";
import { STATES, statesOf } from "./run.mjs";

const TRANSPORTS = ["ws", "stdio"];
const DEFAULT_ROUNDS = 5;
const GUARD_ROUNDS = 5;

export const USAGE = `npm run bench -- [options]
  --cases a,b            only these (see --list)
  --rounds N             rounds per case, in turn between the servers (default ${DEFAULT_ROUNDS})
  --quick                one small round: shows that the bench works, not who is faster
  --transport ws|stdio   only over this transport
  --server warm|fresh    only on servers that are warm, or only the first calls on fresh ones
  --target ws://...      also measure a server that is already running; may be repeated
  --against FILE         compare with another build of this server (its dist/cli.js), not with Codex's; nothing is required then
  --durable              compare a durable server with one that is not; nothing is required then
  --json FILE            write every sample
  --svg FILE             write a chart of the ratios
  --assert               exit 1 where a requirement is missed
  --guard                a short check with wide margins; exit 1 on a miss
  --list                 print the cases and what they measure`;

/** Parses the command line; throws an error that says what is wrong. */
export function readOptions(args) {
  const { values } = parseArgs({
    args,
    options: {
      cases: { type: "string" },
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      transport: { type: "string" },
      server: { type: "string" },
      target: { type: "string", multiple: true, default: [] },
      against: { type: "string" },
      durable: { type: "boolean", default: false },
      json: { type: "string" },
      svg: { type: "string" },
      assert: { type: "boolean", default: false },
      guard: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  checkNames([...REQUIREMENTS, ...GUARD]);
  if (values.transport !== undefined && !TRANSPORTS.includes(values.transport)) {
    throw new Error(`--transport must be ws or stdio, not ${values.transport}`);
  }
  if (values.server !== undefined && !STATES.includes(values.server))
    throw new Error(`--server must be ${STATES.join(" or ")}, not ${values.server}`);
  for (const url of values.target) {
    if (!url.startsWith("ws://") || !URL.canParse(url))
      throw new Error(`--target must be a ws:// URL, not ${url}`);
  }
  if ((values.against !== undefined || values.durable) && (values.guard || values.assert)) {
    throw new Error("--guard and --assert hold against the real Codex server only");
  }
  if (values.guard && (values.cases !== undefined || values.rounds !== undefined || values.quick)) {
    throw new Error("--guard has its own cases and rounds");
  }
  const transports = values.transport === undefined ? TRANSPORTS : [values.transport];
  return {
    ...values,
    states: values.server === undefined ? STATES : [values.server],
    ...(values.guard
      ? { work: guardWork(), requirements: GUARD, rounds: GUARD_ROUNDS, quick: true, assert: true }
      : {
          work: chooseWork(values.cases, transports),
          requirements: values.against === undefined && !values.durable ? REQUIREMENTS : [],
          rounds: readRounds(values),
        }),
  };
}

function readRounds({ rounds, quick }) {
  if (rounds === undefined) return quick ? 1 : DEFAULT_ROUNDS;
  const count = Number(rounds);
  if (!Number.isInteger(count) || count < 1) throw new Error("--rounds must be a whole number above 0");
  return count;
}

/** A misspelt requirement would always pass. */
function checkNames(requirements) {
  for (const requirement of requirements) {
    const { case: name, metric, transport } = requirement;
    const state = stateOf(requirement);
    const benchCase = CASES.find((one) => one.name === name);
    const isMeasured =
      benchCase?.transports.includes(transport) &&
      statesOf(benchCase).includes(state) &&
      benchCase.metrics.some((one) => one.name === metric);
    if (!isMeasured) {
      throw new Error(
        `bench/requirements.mjs: nothing measures ${name} over ${transport}, ${state}, ${metric}`,
      );
    }
  }
}

/** The work to run, as `{benchCase, transport}`. */
function chooseWork(list, transports) {
  const names = list?.split(",").map((name) => name.trim()) ?? CASES.map(({ name }) => name);
  const unknown = names.filter((name) => !CASES.some((benchCase) => benchCase.name === name));
  if (unknown.length > 0) {
    throw new Error(
      `unknown case ${unknown.join(", ")}; the cases are ${CASES.map(({ name }) => name).join(", ")}`,
    );
  }
  const work = CASES.filter(({ name }) => names.includes(name)).flatMap((benchCase) =>
    benchCase.transports
      .filter((transport) => transports.includes(transport))
      .map((transport) => ({ benchCase, transport })),
  );
  if (work.length === 0) throw new Error(`${names.join(", ")}: not measured over ${transports.join(", ")}`);
  return work;
}

const guardWork = () =>
  CASES.flatMap((benchCase) =>
    benchCase.transports
      .filter((transport) => GUARD.some((one) => one.case === benchCase.name && one.transport === transport))
      .map((transport) => ({ benchCase, transport })),
  );

export const listCases = () =>
  CASES.map(
    ({ name, about, transports, metrics }) =>
      `${name} (${transports.join(", ")}): ${about}\n  ${metrics.map((metric) => metric.name).join(", ")}`,
  ).join("\n");
