// Bundles a fuzz target. Its sources count how often each of their branches is taken.
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { parse } from "acorn";
import { build, transform } from "esbuild";

/** A power of two, so that no index is beyond it. */
const MAX_BRANCHES = 32_768;
const MAX_LITERAL_CHARACTERS = 40;

/**
 * @param {string} root
 * @param {string} target name of a file in test/fuzz/targets
 * @param {{ outfile: string, fault?: { file: string, from: string, to: string } }} options
 * @returns {Promise<{ literals: string[] }>} the texts that the sources contain
 */
export async function bundleTarget(root, target, { outfile, fault }) {
  const literals = new Set();
  let branches = 0;
  const countBranches = {
    name: "count-branches",
    setup({ onLoad }) {
      onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
        let source = readFileSync(path, "utf8");
        if (fault !== undefined && relative(root, path) === fault.file) source = withFault(source, fault);
        const { code } = await transform(source, { loader: "ts", target: "es2022" });
        return { contents: instrument(code, () => branches++ % MAX_BRANCHES, literals), loader: "js" };
      });
    },
  };
  await build({
    stdin: {
      contents: `import { target } from "./test/fuzz/targets/${target}.ts";
        import { work } from "./test/fuzz/worker.ts";
        await work(target);`,
      resolveDir: root,
    },
    banner: {
      js: `globalThis.__branches = new Uint8Array(${MAX_BRANCHES}); const __b = globalThis.__branches;`,
    },
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "node",
    target: "node20",
    outfile,
    plugins: [countBranches],
    logLevel: "warning",
  });
  return { literals: [...literals] };
}

function withFault(source, { file, from, to }) {
  if (source.split(from).length !== 2) throw new Error(`${from} must occur once in ${file}`);
  return source.replace(from, () => to);
}

/** Puts a counter at the beginning of every function, branch, loop, case and right side of a logical operator. */
function instrument(code, nextBranch, literals) {
  const insertions = [];
  const count = () => `__b[${nextBranch()}]++`;
  const block = (node) => {
    if (node.type === "BlockStatement") insertions.push([node.start + 1, `${count()};`]);
    else insertions.push([node.start, `{${count()};`], [node.end, "}"]);
  };
  const expression = (node) => insertions.push([node.start, `(${count()},`], [node.end, ")"]);
  const visitors = {
    IfStatement: ({ consequent, alternate }) => {
      block(consequent);
      if (alternate && alternate.type !== "IfStatement") block(alternate);
    },
    ForStatement: ({ body }) => block(body),
    ForOfStatement: ({ body }) => block(body),
    ForInStatement: ({ body }) => block(body),
    WhileStatement: ({ body }) => block(body),
    DoWhileStatement: ({ body }) => block(body),
    FunctionDeclaration: ({ body }) => block(body),
    FunctionExpression: ({ body }) => block(body),
    ArrowFunctionExpression: ({ body }) => (body.type === "BlockStatement" ? block(body) : expression(body)),
    ConditionalExpression: ({ consequent, alternate }) => [consequent, alternate].forEach(expression),
    LogicalExpression: ({ right }) => expression(right),
    SwitchCase: ({ consequent: [first] }) => {
      if (first !== undefined) insertions.push([first.start, `${count()};`]);
    },
    Literal: ({ value }) => {
      if (typeof value === "string" && value !== "" && value.length <= MAX_LITERAL_CHARACTERS)
        literals.add(value);
    },
  };
  walk(parse(code, { ecmaVersion: "latest", sourceType: "module" }), visitors);
  return inserted(code, insertions);
}

function walk(node, visitors) {
  visitors[node.type]?.(node);
  for (const child of Object.values(node))
    if (Array.isArray(child)) for (const each of child) visit(each, visitors);
    else visit(child, visitors);
}

function visit(child, visitors) {
  if (typeof child?.type === "string") walk(child, visitors);
}

/** At one place, what was found first comes first, and closes last. */
function inserted(code, insertions) {
  let result = "";
  let from = 0;
  for (const [at, text] of insertions.toSorted(([one], [other]) => one - other)) {
    result += code.slice(from, at) + text;
    from = at;
  }
  return result + code.slice(from);
}
