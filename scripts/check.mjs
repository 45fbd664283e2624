// `npm run check`: every check that needs no running server.
import { conclude, runSideBySide, runSteps } from "./run-steps.mjs";

/** Of what is not committed yet, and of the last commit; `npm test` runs all. */
const unitTests = {
  name: "unit tests of what changed",
  command: ["vitest", "run", "--project", "unit*", "--changed", "HEAD~1", "--passWithNoTests"],
};

/** What it has found out is kept, so that the next check takes a fraction of the time. */
const types = (name, project) => ({
  name,
  command: ["tsc", "-p", project, "--incremental", "--tsBuildInfoFile", `.cache/tsc/${project}.json`],
});

const failed = await runSideBySide([
  { name: "format", command: ["biome", "format", "."] },
  { name: "lint, with types", command: ["oxlint", "--type-aware", "--deny-warnings"] },
  { name: "layers", command: ["node", "scripts/check-layers.mjs"] },
  { name: "lock file has every platform", command: ["node", "scripts/check-lock.mjs"] },
  { name: "no unused files, exports or dependencies", command: ["knip", "--no-progress"] },
  { name: "regular expressions", command: ["node", "scripts/check-regexes.mjs"] },
  types("types", "tsconfig.json"),
  types("types of isomorphic code, without Node", "tsconfig.isomorphic.json"),
  types("types of the console", "src/console"),
  types("types of the console's tests", "test/console"),
  types("types of the examples", "tsconfig.examples.json"),
  { name: "generated docs are up to date", command: ["node", "scripts/generate-docs.mjs", "--check"] },
  {
    name: "shapes of the wire are up to date",
    command: ["node", "scripts/generate-wire-shapes.mjs", "--check"],
  },
  {
    name: "the warden's shell script",
    command: ["node", "scripts/generate-warden-script.mjs", "--check"],
  },
  { name: "the dashboard is up to date", command: ["node", "scripts/generate-dashboard.mjs", "--check"] },
  { name: "the compiled stage of the sandbox", command: ["node", "scripts/build-stage.mjs", "--check"] },
  {
    name: "published types, and their report",
    command: ["node", "scripts/generate-api-report.mjs", "--check"],
  },
]);
if (!process.argv.includes("--without-tests")) failed.push(...runSteps([unitTests]));
conclude(failed);
