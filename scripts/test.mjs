// `npm test`: the whole proof. Ends with the totals of all test runs, alone on a line.
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runSteps } from "./run-steps.mjs";

const REPORTS = fileURLToPath(new URL("../.cache/reports/", import.meta.url));
const PROJECTS = {
  unit: "unit tests and pins",
  conformance: "conformance, ours and the real Codex server",
  fault: "faults and load",
  cli: "the command line",
  sandbox: "attempts to escape from the sandbox",
  hostile: "hostile clients, servers and strangers",
};

rmSync(REPORTS, { recursive: true, force: true });
mkdirSync(REPORTS, { recursive: true });

const report = (project) => `${REPORTS}${project}.json`;
runSteps([
  { name: "the real Codex server, to compare with", command: ["node", "scripts/install-codex.mjs"] },
  { name: "programs that the tests use", command: ["node", "scripts/install-test-tools.mjs"] },
  { name: "build", command: ["node", "scripts/build.mjs"] },
  { name: "checks", command: ["node", "scripts/check.mjs", "--without-tests"] },
  ...Object.entries(PROJECTS).map(([project, name]) => ({
    name,
    command: [
      "vitest",
      "run",
      "--project",
      project,
      // They mostly wait, so more of them than cores may run.
      ...(["conformance", "cli"].includes(project) ? ["--maxWorkers=4"] : []),
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${report(project)}`,
    ],
  })),
  // Last, when nothing else uses the machine.
  { name: "speed of a short command", command: ["node", "scripts/bench-command.mjs"] },
  { name: "speed beside the real Codex server", command: ["node", "scripts/bench.mjs", "--guard"] },
]);

const totals = { passed: 0, failed: 0 };
for (const project of Object.keys(PROJECTS)) {
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report(project), "utf8"));
  totals.passed += numPassedTests;
  totals.failed += numFailedTests;
}
console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
