// `npm run check`: every check that needs no running server.
import { conclude, runSideBySide, runSteps } from "./run-steps.mjs";

const unitTests = { name: "unit tests", command: ["vitest", "run", "--project", "unit"] };

const failed = await runSideBySide([
  { name: "format", command: ["biome", "format", "."] },
  { name: "lint, with types", command: ["oxlint", "--type-aware", "--deny-warnings"] },
  { name: "layers", command: ["node", "scripts/check-layers.mjs"] },
  { name: "lock file has every platform", command: ["node", "scripts/check-lock.mjs"] },
  { name: "no circles of imports", command: ["node", "scripts/check-circles.mjs"] },
  { name: "no unused files, exports or dependencies", command: ["knip", "--no-progress"] },
  { name: "regular expressions", command: ["node", "scripts/check-regexes.mjs"] },
  { name: "types", command: ["tsc", "-p", "tsconfig.json"] },
  { name: "types of isomorphic code, without Node", command: ["tsc", "-p", "tsconfig.isomorphic.json"] },
  { name: "types of the console", command: ["tsc", "-p", "src/console"] },
  { name: "types of the console's tests", command: ["tsc", "-p", "test/console"] },
  { name: "types of the examples", command: ["tsc", "-p", "tsconfig.examples.json"] },
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
// `npm test` runs them itself, and counts them.
if (!process.argv.includes("--without-tests")) failed.push(...runSteps([unitTests]));
conclude(failed);
