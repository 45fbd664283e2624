// Runs test files for a lane, whose copy of the project is the working directory. Vitest stays loaded from one mutation
// to the next, which saves most of what a few unit tests cost.
import { resolve } from "node:path";
import { BaseSequencer, createVitest } from "vitest/node";

/** For a machine that does something else. */
const TEST_TIMEOUT_MS = 60_000;

class GivenOrder extends BaseSequencer {
  async sort(files) {
    return files;
  }
}

const instances = new Map();
let last = "";

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

/** @returns {Promise<{ state: "passed" | "failed", test?: string, title?: string }>} */
async function run({ changed, tests, isolate, carriers }) {
  process.env["CONFORMANCE_TARGETS"] = carriers;
  const vitest = await instanceFor(isolate);
  // The last one is as it was before.
  for (const file of [last, changed])
    for (const instance of instances.values()) (await instance).invalidateFile(resolve(file));
  last = changed;
  const specifications = tests.map((test) => vitest.getRootProject().createSpecification(resolve(test)));
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  const failed = testModules.find((module) => module.state() === "failed");
  if (failed === undefined)
    return unhandledErrors.length === 0
      ? { state: "passed" }
      : { state: "failed", test: tests[0], title: String(unhandledErrors[0]) };
  const test = [...failed.children.allTests("failed")][0];
  return {
    state: "failed",
    test: failed.relativeModuleId,
    title: test?.fullName ?? String(failed.errors()[0]?.message),
  };
}

process.on("message", async (job) => {
  process.send(await run(job));
});
