// `npm run test:nodes`: builds and tests with every supported major version of Node. Arguments select versions:
// `npm run test:nodes -- 22 24`.
import { installNode } from "./install-node.mjs";
import { requireSteps } from "./run-steps.mjs";

/** Published for x64 and arm64 alike. */
const VERSIONS = ["20.20.2", "22.23.3", "24.21.0", "26.10.0"];

/**
 * Processes, terminals, files and HTTP over every transport; the client for browsers; the examples; the built program.
 */
const SMOKE_TESTS = [
  "test/client/end-to-end.test.ts",
  "test/client/browser-bundle.test.ts",
  "test/client/examples.test.ts",
  "test/e2e/program-file.test.ts",
];

const chosen = process.argv.slice(2);
const isChosen = (version) => chosen.length === 0 || chosen.includes(version.split(".")[0]);
const unknown = chosen.filter((major) => !VERSIONS.some((version) => version.startsWith(`${major}.`)));
if (unknown.length > 0) throw new Error(`no such version of Node: ${unknown.join(", ")}`);

requireSteps([
  { name: "the real Codex server, to compare with", command: ["node", "scripts/install-codex.mjs"] },
  ...VERSIONS.filter(isChosen).flatMap((version) => {
    const node = installNode(version);
    const vitest = [node, "node_modules/vitest/vitest.mjs", "run"];
    return [
      { name: `Node ${version}: build`, command: [node, "scripts/build.mjs"] },
      { name: `Node ${version}: unit tests`, command: [...vitest, "--project", "unit*"] },
      {
        name: `Node ${version}: smoke tests`,
        command: [...vitest, "--project", "fault", "--project", "load", ...SMOKE_TESTS],
      },
    ];
  }),
  { name: "build, as it was", command: [process.execPath, "scripts/build.mjs"] },
]);
