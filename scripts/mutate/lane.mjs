// A private copy of the project in which one mutation at a time is tried.
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { dirname, join } from "node:path";

/** A mutation that makes tests hang is noticed. On a machine that does nothing else, tests need a fraction of this. */
const UNIT_LIMIT_MS = 60_000;
const SUITES_LIMIT_MS = 240_000;
/**
 * Everything that tests start ends with them, whatever the mutation has broken. A shell is the first process, because
 * it waits for orphans, which tests look for.
 */
const ALONE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=KILL", "--"];
const AS_CHILD = ["sh", "-c", '"$@"; exit $?', "sh", process.execPath];

/**
 * @typedef {object} Outcome
 * @property {"passed" | "failed" | "hung"} state
 * @property {string} [test] what noticed the mutation
 * @property {string} [title]
 */

export class Lane {
  /** Where the copy is. */
  root;
  /** The program that runs tests, and others. */
  #running = new Set();
  #runner;
  /** Test files that pass without a mutation, those that do so only without the modules of others, and the rest. */
  #sound = new Set();
  #apart = new Set();
  #unsound = new Set();
  /** True once it has been asked to stop. */
  isStopped = false;

  /** @param {string} project @param {string} root */
  constructor(project, root) {
    this.root = root;
    rmSync(root, { recursive: true, force: true });
    const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], {
      cwd: project,
      encoding: "utf8",
    });
    for (const file of files.split("\0").filter((name) => name !== "" && existsSync(join(project, name)))) {
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

  /** Test files that fail without a mutation. */
  get unsound() {
    return [...this.#unsound];
  }

  /**
   * Tries one mutation.
   * @param {import("./operators.mjs").Mutant} mutant
   * @param {{ checks: string[], jobs: import("./runner.mjs").Job[] }} tests the quickest first
   * @returns {Promise<Outcome>}
   */
  async try(mutant, { checks, jobs }) {
    const path = join(this.root, mutant.file);
    const source = readFileSync(path, "utf8");
    const mutated = source.slice(0, mutant.start) + mutant.to + source.slice(mutant.end);
    const withMutation = async (run) => {
      writeFileSync(path, mutated);
      try {
        return await run();
      } finally {
        writeFileSync(path, source);
      }
    };
    for (const check of checks) {
      const state = await withMutation(() => this.#execute([check, "--check"], UNIT_LIMIT_MS));
      if (state !== "passed") return { state, test: check };
    }
    for (const job of jobs) {
      const outcome = await this.#notice({ ...job, changed: mutant.file }, withMutation);
      if (outcome.state !== "passed") return outcome;
    }
    return { state: "passed" };
  }

  /** Ends what runs. */
  stop() {
    this.isStopped = true;
    for (const child of this.#running) child.kill("SIGKILL");
  }

  /**
   * Whether tests notice the mutation.
   * @returns {Promise<Outcome>}
   */
  async #notice(job, withMutation) {
    const tests = job.tests.filter((test) => !this.#unsound.has(test));
    const together = job.modules === "isolated" ? [] : tests.filter((test) => !this.#apart.has(test));
    const apart = tests.filter((test) => !together.includes(test));
    for (const part of [
      { ...job, tests: together },
      { ...job, tests: apart, modules: "isolated" },
    ]) {
      if (part.tests.length === 0) continue;
      const outcome = await withMutation(() => this.run(part));
      if (outcome.state === "passed") continue;
      if (outcome.state === "hung" || this.isStopped) return outcome;
      const failed = { ...part, tests: part.modules === "grouped" ? part.tests : [outcome.test] };
      if (!(await this.#areSound(failed))) return this.#notice(job, withMutation);
      // A test that measures time or looks at processes may fail on a busy machine: once is not enough.
      if ((await withMutation(() => this.run(failed))).state !== "passed") return outcome;
      const others = job.tests.filter((test) => test !== outcome.test);
      return this.#notice({ ...job, tests: others }, withMutation);
    }
    return { state: "passed" };
  }

  /** A failure counts only if the tests pass without the mutation. */
  async #areSound(job) {
    if (job.tests.every((test) => this.#sound.has(test))) return true;
    let { state } = await this.run(job);
    if (state !== "passed" && job.modules === "isolated") ({ state } = await this.run(job));
    for (const test of job.tests) {
      if (state === "passed") this.#sound.add(test);
      else if (job.modules === "isolated") this.#unsound.add(test);
      else this.#apart.add(test);
    }
    return state === "passed";
  }

  /** Builds the programs that tests start. */
  build() {
    return this.#execute(["scripts/mutate/build-lane.mjs"], UNIT_LIMIT_MS);
  }

  /**
   * Runs test files.
   * @param {import("./runner.mjs").Job} job
   * @returns {Promise<Outcome>}
   */
  async run(job) {
    if (usesPrograms(job) && (await this.build()) !== "passed") return { state: "hung", test: "the build" };
    const stdio = ["ignore", "ignore", "ignore", "ipc"];
    const runner = (this.#runner ??= this.#spawn(["scripts/mutate/runner.mjs"], stdio));
    const limit = limitOf(job.modules === "shared" ? UNIT_LIMIT_MS : SUITES_LIMIT_MS);
    const outcome = await new Promise((resolve) => {
      const timer = setTimeout(() => runner.kill("SIGKILL"), limit);
      const ended = () => settle({ state: "hung" });
      const settle = (message) => {
        clearTimeout(timer);
        runner.off("message", settle).off("close", ended);
        resolve(message);
      };
      runner.on("message", settle).on("close", ended);
      runner.send(job);
    });
    // What a failed suite has left behind ends with its program.
    if (outcome.state === "hung" || (job.modules === "isolated" && outcome.state === "failed")) {
      runner.kill("SIGKILL");
      this.#runner = undefined;
    }
    return outcome;
  }

  /** @returns {Promise<"passed" | "failed" | "hung">} */
  #execute(args, limitMs) {
    const child = this.#spawn(args, "ignore");
    const timer = setTimeout(() => child.kill("SIGKILL"), limitOf(limitMs));
    return new Promise((resolve) => {
      child.once("close", (status) => {
        clearTimeout(timer);
        resolve(status === 0 ? "passed" : status === null ? "hung" : "failed");
      });
    });
  }

  #spawn(args, stdio) {
    const [program, ...first] = [...ALONE, ...AS_CHILD, ...args];
    const child = spawn(program, first, { cwd: this.root, stdio });
    this.#running.add(child);
    child.once("close", () => this.#running.delete(child));
    child.once("error", (error) => {
      throw error;
    });
    return child;
  }
}

/** Whether what is tested is, or starts, a program that was built. */
function usesPrograms({ tests, modules, carriers }) {
  if (modules === "grouped")
    return carriers !== "ours-memory" || tests.some((test) => test.includes("sandbox"));
  return modules === "isolated" && tests.some((test) => test.startsWith("test/"));
}

/** Longer if the machine does more than it has cores for. */
function limitOf(ms) {
  return ms * Math.max(1, loadavg()[0] / availableParallelism());
}
