// `npm run api:changes`: what the public interface has gained, lost and changed since the last release, from docs/api.md as it
// is and as it was. The last release is the newest tag `v…` before this commit; `npm run api:changes -- COMMIT` compares with
// another one.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const REPORT = "docs/api.md";
const NAME = /^(?:export )?(?:declare )?(?:abstract )?(?:function|class|interface|type|const|let) (\w+)/;
const FLAG = /^(?:-\w, )?(--[\w-]+)/;

const git = (...args) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();

/** Every declaration and flag with its text. Several declarations of one name, such as overloads, are one. */
function declarationsOf(report) {
  const found = new Map();
  const blocks = report.matchAll(/^## (.*)\n[^]*?(?=^## |$(?![^]))/gm);
  for (const [section, title] of blocks) {
    for (const [, code] of section.matchAll(/^```(?:ts)?\n([^]*?)^```$/gm)) {
      let name;
      for (const line of code.split("\n")) {
        const begun = (NAME.exec(line) ?? FLAG.exec(line))?.[1];
        if (begun !== undefined) name = `${title}: ${begun}`;
        if (name !== undefined) found.set(name, `${found.get(name) ?? ""}${line}\n`);
      }
    }
  }
  return found;
}

/** The newest tag before this commit, which may have the tag of the next release. */
function lastRelease() {
  try {
    return git("describe", "--tags", "--abbrev=0", "--match=v*", "HEAD^");
  } catch (cause) {
    throw new Error("there is no tag of a release: name a commit to compare with", { cause });
  }
}

const since = process.argv[2] ?? lastRelease();
const before = declarationsOf(git("show", `${since}:${REPORT}`));
const after = declarationsOf(readFileSync(`${ROOT}${REPORT}`, "utf8"));
const changes = {
  Added: [...after.keys()].filter((name) => !before.has(name)),
  Changed: [...after.keys()].filter(
    (name) => before.has(name) && before.get(name).trim() !== after.get(name).trim(),
  ),
  Removed: [...before.keys()].filter((name) => !after.has(name)),
};
console.log(`The public interface since ${since}:`);
for (const [title, names] of Object.entries(changes))
  console.log(`\n${title}: ${names.length}\n${names.map((name) => `  ${name}\n`).join("")}`.trimEnd());
