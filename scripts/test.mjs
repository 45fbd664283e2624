// `npm test`: the whole proof. Ends with the totals of all test runs, alone on a line.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { conclude, requireSteps, runSideBySide, runSteps } from "./run-steps.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const REPORTS = `${ROOT}.cache/reports/`;
/** The same user without privileges, and under another number, so that it does not count as root. */
const AS_ORDINARY_USER = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"];
/** How many files run at a time: more than there are cores where the tests mostly wait. */
const PROJECTS = {
  unit: { name: "unit tests and pins", workers: 2 },
  "unit-isolated": { name: "unit tests in processes of their own", workers: 3 },
  conformance: { name: "conformance, ours and the real Codex server", workers: 5 },
  "ordinary-user": { name: "files, as an ordinary user", workers: 4, wrapper: AS_ORDINARY_USER },
  fault: { name: "faults", workers: 5 },
  waiting: { name: "faults with deadlines, and the real Codex client", workers: 3 },
  load: { name: "load", workers: 1 },
  fleet: { name: "the same over NATS, a part", workers: 3 },
  relay: { name: "the same through a relay, a part", workers: 3 },
  cli: { name: "the command line", workers: 6 },
  console: { name: "the web console in a browser", workers: 3 },
  "console-measured": { name: "what the web console takes of the machine", workers: 1 },
  hostile: { name: "hostile clients and strangers", workers: 1 },
  "hostile-server": { name: "hostile servers", workers: 1 },
  sandbox: { name: "attempts to escape from the sandbox", workers: 1 },
};

rmSync(REPORTS, { recursive: true, force: true });
mkdirSync(REPORTS, { recursive: true });

const report = (project) => `${REPORTS}${project}.json`;

/** @param {string} project */
function testsOf(project) {
  const { name, workers, wrapper = [] } = PROJECTS[project];
  return {
    name,
    command: [
      ...wrapper,
      "vitest",
      "run",
      "--project",
      project,
      `--maxWorkers=${workers}`,
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report(project)}`,
    ],
  };
}

/** Repeats what failed, because the output of the suites is long. */
function printFailures({ name, status, message, assertionResults }) {
  const path = relative(ROOT, name);
  const tests = assertionResults.filter((test) => test.status === "failed");
  for (const { fullName, failureMessages } of tests)
    console.error(`failed: ${path} > ${fullName}\n${indent(failureMessages.join("\n"))}`);
  if (status === "failed" && tests.length === 0) console.error(`failed: ${path}\n${indent(message)}`);
}

function indent(text) {
  const lines = text.split("\n").slice(0, 40);
  return lines.map((line) => `    ${line}`).join("\n");
}

/** One file at a time, most of which waits, and no figure that another program changes. The longest is the first. */
const SIDE_BY_SIDE = ["hostile", "sandbox", "hostile-server"];

requireSteps([
  { name: "the real Codex server, to compare with", command: ["node", "scripts/install-codex.mjs"] },
  { name: "programs that the tests use", command: ["node", "scripts/install-test-tools.mjs"] },
  { name: "build", command: ["node", "scripts/build.mjs"] },
]);
const failed = [
  ...runSteps([
    { name: "checks", command: ["node", "scripts/check.mjs", "--without-tests"] },
    ...Object.keys(PROJECTS)
      .filter((project) => !SIDE_BY_SIDE.includes(project))
      .map(testsOf),
  ]),
  ...(await runSideBySide(SIDE_BY_SIDE.map(testsOf))),
  ...runSteps([
    // Last, when nothing else uses the machine.
    { name: "speed of a short command", command: ["node", "scripts/bench-command.mjs"] },
    { name: "speed beside the real Codex server", command: ["node", "scripts/bench.mjs", "--guard"] },
  ]),
];

const totals = { passed: 0, failed: 0 };
console.log("");
// A project that ended before its first test has no report; it is among the failed steps.
for (const path of Object.keys(PROJECTS).map(report).filter(existsSync)) {
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(path, "utf8"));
  totals.passed += numPassedTests;
  totals.failed += numFailedTests;
  for (const file of testResults) printFailures(file);
}
conclude(failed);
console.log(`${totals.passed} passed, ${totals.failed} failed`);
