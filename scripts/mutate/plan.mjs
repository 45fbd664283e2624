// Which tests try a mutation: those that run the function that it is in.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { TARGETS } from "./targets.mjs";

/** With more titles than this, the whole files run. */
const MAX_TITLES = 200;
/** Their unit tests use nothing of what is mutated. */
const OTHERS =
  /^src\/(base|transport|console|native|cli|capabilities\/(discovery|http|tcp|network-proxy|host))\//;

/** The part of the sources that a file belongs to. */
export const targetOf = (file) => TARGETS.find(({ folder }) => file.startsWith(`${folder}/`));

/** Every unit test that may run what is mutated. */
export function findUnitTests(root) {
  return ["src", "test/pins"]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map(
        (name) => `${folder}/${name}`,
      ),
    )
    .filter((file) => file.endsWith(".test.ts") && !OTHERS.test(file))
    .map((test) => ({ test, carriers: "" }));
}

/** The suites of a part. */
export function suitesOf({ suites, carriers = "ours-memory" }) {
  return suites.map((test) => ({ test, carriers }));
}

/**
 * @param {import("./operators.mjs").Mutant} mutant
 * @param {{ coverage: import("./coverage.mjs").Coverage, units: object[], isUnitsOnly: boolean }} known
 */
export function planOf(mutant, { coverage, units, isUnitsOnly }) {
  const target = targetOf(mutant.file);
  const isGrouped = ({ test }) => test.startsWith("test/conformance/");
  const suites = isUnitsOnly ? [] : suitesOf(target);
  const jobs = [
    ...jobsOf("shared", units),
    ...jobsOf("grouped", suites.filter(isGrouped)),
    ...jobsOf(
      "isolated",
      suites.filter((suite) => !isGrouped(suite)),
    ),
  ];
  return { checks: isUnitsOnly ? [] : (target.checks ?? []), jobs };

  function jobsOf(modules, files) {
    const some = { tests: [], titles: [] };
    const whole = [];
    for (const one of nearestFirst(mutant.file, files)) {
      const titles = coverage.testsThatRun(mutant.runsIn, one);
      if (titles === "all" || (target.byFile === true && titles.length > 0)) whole.push(one.test);
      else if (titles.length > 0) {
        some.tests.push(one.test);
        some.titles.push(...titles);
      }
    }
    const { carriers } = files[0] ?? {};
    const isMany = some.titles.length > MAX_TITLES;
    return [
      { modules, carriers, tests: some.tests, ...(isMany ? {} : { titles: some.titles }) },
      { modules, carriers, tests: whole },
    ].filter(({ tests }) => tests.length > 0);
  }
}

/** Those that share most words with the name of the file. */
function nearestFirst(file, tests) {
  const words = new Set(file.split(/\W+/));
  const shared = ({ test }) => test.split(/\W+/).filter((word) => words.has(word)).length;
  return tests.toSorted((one, other) => shared(other) - shared(one));
}
