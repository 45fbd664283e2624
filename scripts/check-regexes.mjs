// Checks that every regular expression in src/ takes linear time on any text. Those built from text at run time are
// refused, because nothing can be said about them.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "acorn";
import { transformSync } from "esbuild";
import { isSafePattern } from "redos-detector";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Effort per pattern, in steps and not in time: a pattern that is undecided by then is not simple enough. */
const EFFORT = { maxScore: 30, maxSteps: 60_000 };
/** String methods that turn text into a regular expression. */
const MAKERS = new Set(["match", "matchAll", "search"]);

/** Patterns that were found safe before, because finding out takes a while. */
const CACHE = join(ROOT, ".cache/regexes.json");
const known = new Set(readKnown());
const safe = new Set();

const directory = process.argv[2] ?? join(ROOT, "src");
const faults = [];
let checked = 0;
for (const entry of readdirSync(directory, { recursive: true, encoding: "utf8" })) {
  if (!/\.tsx?$/.test(entry) || entry.endsWith(".test.ts") || entry.endsWith(".d.ts")) continue;
  const path = join(directory, entry);
  const source = readFileSync(path, "utf8");
  const { code } = transformSync(source, {
    loader: path.endsWith("x") ? "tsx" : "ts",
    jsx: "automatic",
    target: "es2022",
  });
  const report = (fault) => faults.push(`${relative(ROOT, path)}: ${fault}`);
  const program = parse(code, { ecmaVersion: 2022, sourceType: "module" });
  const constants = new Set();
  walk(program, (node) => {
    if (node.type === "VariableDeclarator" && node.init?.regex !== undefined) constants.add(node.id.name);
  });
  walk(program, (node) => visit(node, constants, report));
}

function walk(node, seen) {
  seen(node);
  for (const child of Object.values(node))
    for (const item of Array.isArray(child) ? child : [child])
      if (typeof item?.type === "string") walk(item, seen);
}

/** `constants` are the names in this file that refer to regular expressions. */
function visit(node, constants, report) {
  if (node.type === "Literal" && node.regex !== undefined) checkPattern(node.regex, report);
  if (!isCall(node)) return;
  const {
    callee,
    arguments: [argument],
  } = node;
  if (callee.type === "Identifier" && callee.name === "RegExp") checkMade(node, report);
  const method = callee.type === "MemberExpression" ? callee.property.name : undefined;
  const isRegex = argument?.regex !== undefined || constants.has(argument?.name);
  if (MAKERS.has(method) && !isRegex)
    report(`.${method}() takes a regular expression of the same file, not text`);
}

function isCall({ type }) {
  return type === "NewExpression" || type === "CallExpression";
}

function checkMade({ arguments: [source, flags] }, report) {
  const isText =
    typeof source?.value === "string" && (flags === undefined || typeof flags.value === "string");
  if (isText) checkPattern({ pattern: source.value, flags: flags?.value ?? "" }, report);
  else report("a regular expression is made of text at run time");
}

function checkPattern({ pattern, flags }, report) {
  checked += 1;
  const key = JSON.stringify([pattern, flags, EFFORT]);
  const { safe: isSafe, error } = known.has(key) ? { safe: true } : safety(pattern, flags);
  if (isSafe) safe.add(key);
  else report(`/${pattern}/${flags} can take longer than in proportion to the text (${error})`);
}

function safety(pattern, flags) {
  try {
    // The tool supports groups, but not their names.
    return isSafePattern(pattern.replaceAll(/\(\?<(?![=!])[^>]*>/g, "("), {
      ...EFFORT,
      caseInsensitive: flags.includes("i"),
      unicode: flags.includes("u"),
      dotAll: flags.includes("s"),
      multiLine: flags.includes("m"),
    });
  } catch (error) {
    return { safe: false, error: `it cannot be checked: ${error.message}` };
  }
}

function readKnown() {
  try {
    return JSON.parse(readFileSync(CACHE, "utf8"));
  } catch {
    return [];
  }
}

if (process.argv[2] === undefined) {
  mkdirSync(join(ROOT, ".cache"), { recursive: true });
  writeFileSync(CACHE, JSON.stringify([...safe]));
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
console.log(`   ${checked} regular expressions`);
