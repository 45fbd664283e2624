// `npm run codex-diff -- OLD NEW`: what changed from one release of the real server to another.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { helpOf, wordsOf } from "./codex-diff/binary.mjs";
import { answersOf } from "./codex-diff/probes.mjs";
import { installCodex } from "./install-codex.mjs";

const USAGE = `Usage: npm run codex-diff -- OLD NEW [--without-requirements]

Installs both releases of Codex into .cache/codex, and prints what differs: flags, environment variables, shapes of
messages, texts, answers to the same questions, and requirements of the conformance suite that only one of them meets.
The requirements take some minutes for each. docs/testing.md says how to go from one release to the next.
`;

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MAX_SHOWN = 200;

async function main() {
  const words = process.argv.slice(2);
  const versions = words.filter((word) => /^\d+\.\d+\.\d+$/.test(word));
  const flags = words.filter((word) => !versions.includes(word));
  if (versions.length !== 2 || flags.some((flag) => flag !== "--without-requirements")) {
    console.error(USAGE);
    return 2;
  }
  const [older, newer] = versions.map((version) => ({ version, binary: installCodex(version) }));
  const both = (look) => [look(older.binary), look(newer.binary)];

  show("flags", ...both(helpOf));
  const [before, after] = both(wordsOf);
  show("environment variables", before.variables, after.variables);
  const shapes = ({ shapes }) => [...shapes].map(([name, count]) => `${name}: ${count} members`);
  show("shapes of messages", shapes(before), shapes(after));
  show("texts, five words at a time", before.phrases, after.phrases);
  const answers = await Promise.all([answersOf(older.binary), answersOf(newer.binary)]);
  const lines = (map) => [...map].map(([question, answer]) => `${question} → ${answer}`);
  show("answers", ...answers.map(lines));
  if (flags.length === 0) showRequirements(older, newer);
  return 0;
}

/** Prints what only one of two has, sorted so that related lines are beside each other. */
function show(what, before, after) {
  const [old, now] = [new Set(before), new Set(after)];
  const lines = [
    ...[...old].filter((line) => !now.has(line)).map((line) => ({ line, mark: "-" })),
    ...[...now].filter((line) => !old.has(line)).map((line) => ({ line, mark: "+" })),
  ].toSorted((one, other) => (one.line < other.line ? -1 : 1));
  console.log(`\n== ${what}: ${lines.length === 0 ? "no difference" : `${lines.length} differ`}`);
  for (const { line, mark } of lines.slice(0, MAX_SHOWN)) console.log(`${mark} ${line}`);
  if (lines.length > MAX_SHOWN) console.log(`  and ${lines.length - MAX_SHOWN} more`);
}

function showRequirements(older, newer) {
  const [before, after] = [older, newer].map(resultsOf);
  const differing = [...after].filter(
    ([title, failure]) => (before.get(title) === undefined) !== (failure === undefined),
  );
  console.log(
    `\n== requirements: ${differing.length === 0 ? "no difference" : `${differing.length} differ`}`,
  );
  for (const [title, failure] of differing) {
    const [version, why] =
      failure === undefined ? [older.version, before.get(title)] : [newer.version, failure];
    console.log(`- ${title}\n    fails on ${version}: ${why.split("\n")[0]}`);
  }
}

/** The message of the failure of each requirement, or undefined. */
function resultsOf({ version, binary }) {
  const directory = mkdtempSync(join(tmpdir(), "codex-diff-"));
  const file = join(directory, "report.json");
  console.log(`\nrequirements on ${version} …`);
  try {
    spawnSync(
      process.execPath,
      [
        join(ROOT, "node_modules/vitest/vitest.mjs"),
        "run",
        "--project",
        "conformance",
        "--maxWorkers=4",
        "--reporter=json",
        `--outputFile=${file}`,
      ],
      {
        cwd: ROOT,
        env: {
          ...process.env,
          CODEX_EXEC_SERVER: binary,
          CONFORMANCE_TARGETS: "codex-ws,codex-stdio,codex-cli",
        },
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
    const { testResults } = JSON.parse(readFileSync(file, "utf8"));
    return new Map(
      testResults
        .flatMap(({ assertionResults }) => assertionResults)
        .filter(({ status }) => status === "passed" || status === "failed")
        .map(({ title, failureMessages }) => [title, failureMessages[0]]),
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
}

process.exitCode = await main();
