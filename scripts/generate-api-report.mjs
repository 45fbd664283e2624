// Writes docs/api.md: the exported types of every entry point, and the flags of the command line. `--check` fails if
// the file is out of date, so that no change of the public interface goes unseen.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Declarations } from "./declarations.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const REPORT = `${ROOT}docs/api.md`;
const EMITTED = `${ROOT}.cache/api`;
const LIBRARY = "./dist/lib/";
/** Longer declarations are the tables of the wire, which docs/protocol.md has in full. */
const MAX_LINES = 60;

const declarations = new Declarations(EMITTED);

function emitDeclarations() {
  rmSync(EMITTED, { recursive: true, force: true });
  // With several threads, the order of members and unions is not always the same.
  const args = ["-p", "tsconfig.build.json", "--outDir", EMITTED, "--singleThreaded"];
  const { status } = spawnSync("node_modules/.bin/tsc", args, { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

function listEntries() {
  const { name, exports } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
  return Object.entries(exports).flatMap(([path, conditions]) => {
    const title = `${name}${path.slice(1)}`;
    const types = ({ types }) => types.slice(LIBRARY.length);
    return [
      ...(conditions.types === undefined ? [] : [{ title, types: types(conditions) }]),
      ...(conditions.browser === undefined
        ? []
        : [{ title: `${title}, in a browser`, types: types(conditions.browser) }]),
    ];
  });
}

function shorten(text) {
  const lines = text.split("\n");
  if (lines.length <= MAX_LINES) return text;
  const members = lines
    .map((line) => /^ {4}"[^"]+": /.exec(line)?.[0])
    .filter((member) => member !== undefined);
  if (members.length === 0) return text;
  return [lines[0], ...members.sort().map((member) => `${member}…;`), lines.at(-1)].join("\n");
}

const fence = (texts) => ["```ts", ...texts.map(shorten), "```", ""];
const byName = ([one], [other]) => (one < other ? -1 : 1);
const declarationKey = ({ path, text }) => `${path}\n${text}`;

/** Types that are not exported themselves, but that exported types refer to. */
function findHidden(exported) {
  const seen = new Set(exported.map(declarationKey));
  const hidden = [];
  for (const waiting = [...exported]; waiting.length > 0; ) {
    for (const found of declarations.referencesOf(waiting.pop())) {
      if (seen.has(declarationKey(found))) continue;
      seen.add(declarationKey(found));
      hidden.push(found);
      waiting.push(found);
    }
  }
  return hidden.sort((one, other) => (declarationKey(one) < declarationKey(other) ? -1 : 1));
}

/** Each option of `--help` with its value and default, without its description. */
async function listFlags() {
  const { outputFiles } = await build({
    entryPoints: [`${ROOT}src/cli/serve/help.ts`],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    define: { EXEC_SERVER_VERSION: '""' },
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire("/");' },
  });
  const { help } = await import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`
  );
  return help()
    .split(/\n(?= {2,6}-)/)
    .slice(1)
    .map((option) => {
      const [flag] = /^ +(?:-\w, )?--[\w-]+(?: <\w+>)?/.exec(option);
      const [, values = ""] = /\[((?:default|separated)[^\]]*)\]/.exec(option) ?? [];
      return `${flag.trim()} ${values && `[${values.replace(/\s+/g, " ")}]`}`.trim();
    });
}

async function renderReport() {
  const shown = new Map();
  const sections = listEntries().flatMap(({ title, types }) => {
    const names = [...declarations.exportsOf(types)].sort(byName);
    const isNew = ([name, found]) => shown.get(name) !== found.map(declarationKey).join();
    const news = names.filter(isNew);
    const known = names.filter((each) => !isNew(each)).map(([name]) => `\`${name}\``);
    for (const [name, found] of news) shown.set(name, found.map(declarationKey).join());
    return [
      `## ${title}`,
      "",
      ...(known.length === 0 ? [] : [`As above: ${known.join(", ")}.`, ""]),
      ...(news.length === 0 ? [] : fence(news.flatMap(([, found]) => found.map(({ text }) => text)))),
    ];
  });
  const exported = listEntries().flatMap(({ types }) => [...declarations.exportsOf(types).values()].flat());
  return [
    "# Public interface",
    "",
    "`npm run docs` generates this page from the code, and `npm run check` fails if it is out of date. A change to this page is a",
    "change that users see: it needs a line in CHANGELOG.md, and an old name keeps working for one release. The wire has",
    "[its own page](protocol.md).",
    "",
    ...sections,
    "## Types that the above refer to",
    "",
    "You cannot import these by name, but they are part of the types above.",
    "",
    ...fence(findHidden(exported).map(({ text }) => text.replace(/^export /, ""))),
    "## Command line",
    "",
    "```",
    ...(await listFlags()),
    "```",
    "",
  ].join("\n");
}

emitDeclarations();
const report = await renderReport();
if (!process.argv.includes("--check")) {
  writeFileSync(REPORT, report);
} else if (readFileSync(REPORT, "utf8") !== report) {
  console.error(
    "docs/api.md is out of date: run `npm run docs`, and describe the change in CHANGELOG.md if users see it",
  );
  process.exitCode = 1;
}
