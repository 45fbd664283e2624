// Runs test files for a lane, whose copy of the project is the working directory. Vitest stays loaded from one mutation
// to the next, which saves most of what a few unit tests cost.
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { BaseSequencer, createVitest } from "vitest/node";

/** For a machine that does something else. */
const TEST_TIMEOUT_MS = 60_000;
/** Imports test files, so that what they share is loaded and started once. */
const GROUP = "test/conformance/mutate-group.test.ts";

class GivenOrder extends BaseSequencer {
  async sort(files) {
    return files;
  }
}

const instances = new Map();
let last = GROUP;

function instanceFor(modules) {
  const kind = modules === "grouped" ? "shared" : modules;
  if (!instances.has(kind)) instances.set(kind, create(kind));
  return instances.get(kind);
}

function create(kind) {
  const isRecorded = kind === "recorded";
  return createVitest("test", {
    config: false,
    watch: false,
    reporters: [{}],
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    sequence: { sequencer: GivenOrder },
    isolate: kind !== "shared",
    maxWorkers: 1,
    bail: isRecorded ? 0 : 1,
    setupFiles: isRecorded ? ["scripts/mutate/record-tests.mjs"] : [],
    testTimeout: TEST_TIMEOUT_MS,
    hookTimeout: TEST_TIMEOUT_MS,
    expect: { poll: { timeout: 20_000 } },
    experimental: { fsModuleCache: true },
  });
}

/**
 * @typedef {object} Job
 * @property {string} [changed] the file that was changed
 * @property {string[]} tests
 * @property {string[]} [titles] only these of them
 * @property {"shared" | "grouped" | "isolated" | "recorded"} modules how test files use the modules of the others;
 *   `recorded` says that what they run is recorded
 * @property {string} carriers see CONFORMANCE_TARGETS
 */

/**
 * @param {Job} job
 * @returns {Promise<{ state: "passed" | "failed", test?: string, title?: string }>}
 */
async function run({ changed, tests, titles, modules, carriers }) {
  process.env["CONFORMANCE_TARGETS"] = carriers;
  const isGrouped = modules === "grouped";
  if (isGrouped) writeFileSync(GROUP, tests.map((test) => `import "${resolve(test)}";\n`).join(""));
  const vitest = await instanceFor(modules);
  if (titles === undefined) vitest.resetGlobalTestNamePattern();
  else vitest.setGlobalTestNamePattern(new RegExp(`^(?:${titles.map(escaped).join("|")})$`));
  // The last file is as it was before.
  for (const file of [GROUP, last, changed ?? GROUP])
    for (const instance of instances.values()) (await instance).invalidateFile(resolve(file));
  last = changed ?? GROUP;
  // Otherwise failures of earlier runs would count.
  vitest.state.filesMap.clear();
  vitest.state.idMap.clear();
  const specifications = (isGrouped ? [GROUP] : tests).map((test) =>
    vitest.getRootProject().createSpecification(resolve(test)),
  );
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  // A file whose concurrent tests are cancelled by the failure of one has not failed itself.
  const firstFailed = (module) => module.children.allTests("failed").next().value;
  const failed = testModules.find(
    (module) => module.state() === "failed" || firstFailed(module) !== undefined,
  );
  if (failed !== undefined) {
    const test = firstFailed(failed);
    const title = test?.fullName ?? failed.errors()[0]?.message;
    return { state: "failed", test: failed.relativeModuleId, title };
  }
  if (unhandledErrors.length === 0) return { state: "passed" };
  return { state: "failed", test: tests[0], title: String(unhandledErrors[0].message) };
}

function escaped(text) {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}

process.on("message", (job) => void run(job).then((outcome) => process.send(outcome)));
