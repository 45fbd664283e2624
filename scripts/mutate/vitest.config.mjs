// Runs the test files of MUTATE_TESTS in that order, until the first failure. The limits of time are those of a machine
// that does something else.
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";

const { tests, isolate } = JSON.parse(process.env["MUTATE_TESTS"]);

class GivenOrder extends BaseSequencer {
  async sort(files) {
    const place = ({ moduleId }) => tests.findIndex((test) => moduleId.endsWith(`/${test}`));
    return files.toSorted((one, other) => place(one) - place(other));
  }
}

export default defineConfig({
  test: {
    pool: "forks",
    include: tests,
    sequence: { sequencer: GivenOrder },
    isolate,
    maxWorkers: 1,
    bail: 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    experimental: { fsModuleCache: true },
  },
});
