// Writes warden-script.ts from warden.sh: a server needs the script as text, wherever its code ends up. With `--check`
// it writes nothing, fails if the file on disk is out of date, and runs ShellCheck on the script.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ensurePrograms } from "./debian-package.mjs";

const DIRECTORY = fileURLToPath(new URL("../src/capabilities/process/ending/", import.meta.url));
const SOURCE = `${DIRECTORY}warden.sh`;
const TARGET = `${DIRECTORY}warden-script.ts`;

/** Comments are removed, because the script shows in process listings. */
const lines = readFileSync(SOURCE, "utf8")
  .split("\n")
  .filter((line) => line !== "" && !/^\s*#/.test(line));
const text = `// Generated from warden.sh by \`npm run docs\`. Do not edit.
// biome-ignore format: one line of the script per line
export const WARDEN_SCRIPT = [
${lines.map((line) => `  ${JSON.stringify(line)},`).join("\n")}
].join("\\n");
`;

function runShellCheck() {
  if (!ensurePrograms({ shellcheck: "shellcheck" })) return 1;
  return spawnSync("shellcheck", [SOURCE], { stdio: "inherit" }).status ?? 1;
}

if (!process.argv.includes("--check")) {
  writeFileSync(TARGET, text);
} else if (readFileSync(TARGET, "utf8") !== text) {
  console.error("warden-script.ts is out of date: npm run docs");
  process.exitCode = 1;
} else {
  process.exitCode = runShellCheck();
}
