// A private copy of the project in which one mutation at a time is tried.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A mutation that makes tests hang is noticed; these are far more than they take otherwise. */
const UNIT_LIMIT_MS = 120_000;
const SUITES_LIMIT_MS = 420_000;
/** Everything that tests start ends with them, whatever the mutation has broken. */
const ALONE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=KILL", "--"];
const ENV = { ...process.env, CONFORMANCE_TARGETS: "ours-memory", FORCE_COLOR: "0" };

/**
 * @typedef {object} Outcome
 * @property {"passed" | "failed" | "hung"} state
 * @property {string} [test] the file that failed
 * @property {string} [title]
 */

export class Lane {
  #root;
  #running;
  /** Test files that are known to pass without a mutation. */
  #sound = new Set();
  #unsound = new Set();
  #stopped = false;

  /** @param {string} project @param {string} root */
  constructor(project, root) {
    this.#root = root;
    rmSync(root, { recursive: true, force: true });
    const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], {
      cwd: project,
      encoding: "utf8",
    });
    for (const file of files.split("\0").filter((name) => name !== "")) {
      mkdirSync(dirname(join(root, file)), { recursive: true });
      cpSync(join(project, file), join(root, file), { verbatimSymlinks: true });
    }
    symlinkSync(join(project, "node_modules"), join(root, "node_modules"));
    mkdirSync(join(root, ".cache"));
    symlinkSync(join(project, ".cache/codex"), join(root, ".cache/codex"));
    cpSync(join(project, "dist"), join(root, "dist"), {
      recursive: true,
      filter: (path) => path !== join(project, "dist/cache"),
    });
  }

  /**
   * Tries one mutation: first unit tests, then checks, then the suites.
   * @returns {Promise<Outcome>}
   */
  async try(mutant, { units, checks, suites }) {
    const path = join(this.#root, mutant.file);
    const source = readFileSync(path, "utf8");
    const mutated = source.slice(0, mutant.start) + mutant.to + source.slice(mutant.end);
    for (const stage of [
      { tests: units, isolate: false, limitMs: UNIT_LIMIT_MS },
      { tests: suites, isolate: true, limitMs: SUITES_LIMIT_MS },
    ]) {
      if (stage.isolate)
        for (const check of checks) {
          writeFileSync(path, mutated);
          const state = await this.#execute([process.execPath, check, "--check"], UNIT_LIMIT_MS, ENV);
          writeFileSync(path, source);
          if (state !== "ended") return { state, test: check };
        }
      for (;;) {
        const tests = stage.tests.filter((test) => !this.#unsound.has(test));
        if (tests.length === 0) break;
        writeFileSync(path, mutated);
        const outcome = await this.#run({ ...stage, tests });
        writeFileSync(path, source);
        if (outcome.state === "passed") break;
        if (outcome.test === undefined || this.#stopped) return outcome;
        if (await this.#isSound(outcome.test, stage)) return outcome;
      }
    }
    return { state: "passed" };
  }

  /** Ends what runs. */
  stop() {
    this.#stopped = true;
    this.#running?.kill("SIGKILL");
  }

  get unsound() {
    return [...this.#unsound];
  }

  /** A failure counts only if the test passes without the mutation. */
  async #isSound(test, stage) {
    if (this.#sound.has(test)) return true;
    const { state } = await this.#run({ ...stage, tests: [test] });
    (state === "passed" ? this.#sound : this.#unsound).add(test);
    return state === "passed";
  }

  /** @returns {Promise<Outcome>} */
  async #run({ tests, isolate, limitMs }) {
    if (isolate) {
      const built = await this.#execute(["node", "scripts/mutate/build-lane.mjs"], limitMs, ENV);
      if (built !== "ended") return { state: built === "failed" ? "failed" : "hung" };
    }
    const report = join(this.#root, ".cache/report.json");
    rmSync(report, { force: true });
    const command = ["node_modules/vitest/vitest.mjs", "run", "--config", "scripts/mutate/vitest.config.mjs"];
    const state = await this.#execute(
      [process.execPath, ...command, "--reporter=json", `--outputFile.json=${report}`],
      limitMs,
      { ...ENV, MUTATE_TESTS: JSON.stringify({ tests, isolate }) },
    );
    if (state === "ended") return { state: "passed" };
    return { state: state === "failed" ? "failed" : "hung", ...firstFailure(report, this.#root) };
  }

  /** @returns {Promise<"ended" | "failed" | "hung">} */
  #execute(command, limitMs, env) {
    const [program, ...args] = [...ALONE, ...command];
    const child = spawn(program, args, { cwd: this.#root, env, stdio: "ignore" });
    this.#running = child;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, limitMs);
    return new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (status) => {
        clearTimeout(timer);
        resolve(isLate ? "hung" : status === 0 ? "ended" : "failed");
      });
    });
  }
}

/** @returns {{ test?: string, title?: string }} */
function firstFailure(report, root) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, "utf8")).testResults;
  } catch {
    return {};
  }
  const failed = results.find(({ status }) => status === "failed");
  if (failed === undefined) return {};
  return {
    test: failed.name.slice(root.length + 1),
    title: failed.assertionResults.find(({ status }) => status === "failed")?.fullName ?? failed.message,
  };
}
