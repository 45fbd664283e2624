// Builds the programs that tests start, as far as a mutation can change them.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildClient, buildProgram, buildSandboxHelper, buildUserServer } from "../build-program.mjs";

process.chdir(fileURLToPath(new URL("../..", import.meta.url)));
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

const programs = {
  program: buildProgram,
  client: buildClient,
  "user-server": buildUserServer,
  "sandbox-helper": buildSandboxHelper,
};
await Promise.all(
  Object.entries(programs).map(async ([name, build]) =>
    writeFileSync(`dist/${name}.js`, (await build(version)).text),
  ),
);
