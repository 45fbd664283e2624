// Which functions each test runs, also in the programs that it starts. It is kept from one run to the next; a test file
// that has changed is looked at again.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { instrument } from "./instrument.mjs";

/** At least the time after which `record-hit.mjs` records a function again. */
const WINDOW_MS = 70;
/** A test file; that of a requirement of the wire with the carriers over which it runs. */
const idOf = ({ test, carriers }) => (test.startsWith("test/conformance/") ? `${test} ${carriers}` : test);

export class Coverage {
  #project;
  #file;
  /** @type {Map<string, { hash: string, whole: Set<string>, tests: Map<string, Set<string>> }>} */
  #seen = new Map();

  /** @param {string} project @param {string} file where it is kept */
  constructor(project, file) {
    this.#project = project;
    this.#file = file;
    if (!existsSync(file)) return;
    const { names, seen } = JSON.parse(readFileSync(file, "utf8"));
    const named = (numbers) => new Set(numbers.map((number) => names[number]));
    for (const { id, hash, whole, tests } of seen)
      this.#seen.set(id, {
        hash,
        whole: named(whole),
        tests: new Map(tests.map(([title, ran]) => [title, named(ran)])),
      });
  }

  /** What is not known yet. */
  missing(wanted) {
    return wanted.filter((one) => this.#seen.get(idOf(one))?.hash !== this.#hashOf(one));
  }

  /** Looks at test files, in a lane that is good for nothing else afterwards. */
  async collect(lane, next, tell) {
    const log = join(lane.root, ".cache/hits");
    const names = instrument(lane.root, log);
    await lane.build();
    for (let one = next(); one !== undefined; one = next()) {
      rmSync(log, { force: true });
      await lane.run({ ...one, tests: [one.test], modules: "recorded" });
      const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n") : [];
      this.#seen.set(idOf(one), { hash: this.#hashOf(one), ...readLog(lines, names) });
      tell(one);
    }
  }

  save() {
    const numbers = new Map();
    const numberOf = (name) => numbers.get(name) ?? numbers.set(name, numbers.size).get(name);
    const seen = [...this.#seen].map(([id, { hash, whole, tests }]) => ({
      id,
      hash,
      whole: [...whole].map(numberOf),
      tests: [...tests].map(([title, ran]) => [title, [...ran].map(numberOf)]),
    }));
    writeFileSync(this.#file, JSON.stringify({ names: [...numbers.keys()], seen }));
  }

  /**
   * The tests of a file that run a function: their titles, all of them, or none.
   * @returns {string[] | "all"}
   */
  testsThatRun(name, one) {
    const seen = this.#seen.get(idOf(one));
    if (seen === undefined || seen.whole.has(name)) return "all";
    return [...seen.tests].filter(([, ran]) => ran.has(name)).map(([title]) => title);
  }

  #hashOf({ test }) {
    return createHash("sha256")
      .update(readFileSync(join(this.#project, test)))
      .digest("hex");
  }
}

/** What runs while no test does belongs to the whole file. */
function readLog(lines, names) {
  const whole = new Set();
  const tests = new Map();
  const running = new Set();
  let recent = [];
  for (const line of lines) {
    const [, time, what, rest] = /^(\d+) (\w+) ?(.*)$/.exec(line) ?? [];
    if (what === "begin") {
      const title = JSON.parse(rest);
      running.add(title);
      const ran = tests.get(title) ?? new Set();
      tests.set(title, ran);
      // Another program would not record it again so soon.
      recent = recent.filter((hit) => hit.time > time - WINDOW_MS);
      for (const { name } of recent) ran.add(name);
    } else if (what === "end") running.delete(JSON.parse(rest));
    else if (what === "tests" || what === "child") {
      const name = names[rest];
      for (const title of running) tests.get(title).add(name);
      if (running.size === 0) whole.add(name);
      if (what === "child") recent.push({ time: Number(time), name });
    }
  }
  return { whole, tests };
}
