// `npm run release:check -- vVERSION`: whether everything that names the version of a release agrees with its tag.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));
const tag = process.argv[2] ?? `v${readJson("package.json").version}`;
const version = tag.slice(1);
const [, entries = ""] = readFileSync("CHANGELOG.md", "utf8").split(`\n## ${version}\n`);
const unreleased = /^## Unreleased\n([^]*?)^## /m.exec(readFileSync("CHANGELOG.md", "utf8"))?.[1];

const faults = [
  [readJson("package.json").version !== version, `package.json has another version than ${tag}`],
  [readJson("package-lock.json").version !== version, `package-lock.json has another version than ${tag}`],
  [entries.trim() === "", `CHANGELOG.md has nothing under "## ${version}"`],
  [unreleased?.trim() !== "", 'CHANGELOG.md must have an empty section "## Unreleased"'],
].filter(([isFault]) => isFault);
for (const [, message] of faults) console.error(message);
if (faults.length > 0) process.exitCode = 1;
else console.log(`${tag} is ready`);
