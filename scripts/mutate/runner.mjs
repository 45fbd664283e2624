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

function instanceFor(isolate) {
  if (!instances.has(isolate)) instances.set(isolate, create(isolate));
  return instances.get(isolate);
}

function create(isolate) {
  return createVitest("test", {
    config: false,
    watch: false,
    reporters: [{}],
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    pool: "forks",
    sequence: { sequencer: GivenOrder },
    isolate,
    maxWorkers: 1,
    bail: 1,
    testTimeout: TEST_TIMEOUT_MS,
    hookTimeout: TEST_TIMEOUT_MS,
    expect: { poll: { timeout: 20_000 } },
    experimental: { fsModuleCache: true },
  });
}

/**
 * @typedef {object} Job
 * @property {string} changed the file that was changed
 * @property {string[]} tests
 * @property {"shared" | "grouped" | "isolated"} modules how test files use the modules of the others
 * @property {string} carriers see CONFORMANCE_TARGETS
 */

/**
 * @param {Job} job
 * @returns {Promise<{ state: "passed" | "failed", test?: string, title?: string }>}
 */
async function run({ changed, tests, modules, carriers }) {
  process.env["CONFORMANCE_TARGETS"] = carriers;
  const isGrouped = modules === "grouped";
  if (isGrouped) writeFileSync(GROUP, tests.map((test) => `import "${resolve(test)}";\n`).join(""));
  const vitest = await instanceFor(modules === "isolated");
  // The last file is as it was before.
  for (const file of [GROUP, last, changed])
    for (const instance of instances.values()) (await instance).invalidateFile(resolve(file));
  last = changed;
  // Otherwise failures of earlier runs would count.
  vitest.state.filesMap.clear();
  vitest.state.idMap.clear();
  const specifications = (isGrouped ? [GROUP] : tests).map((test) =>
    vitest.getRootProject().createSpecification(resolve(test)),
  );
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  const failed = testModules.find((module) => module.state() === "failed");
  if (failed !== undefined) {
    const [test] = failed.children.allTests("failed");
    const title = test?.fullName ?? failed.errors()[0]?.message;
    return { state: "failed", test: failed.relativeModuleId, title };
  }
  if (unhandledErrors.length === 0) return { state: "passed" };
  return { state: "failed", test: tests[0], title: String(unhandledErrors[0].message) };
}

process.on("message", async (job) => {
  process.send(await run(job));
});
