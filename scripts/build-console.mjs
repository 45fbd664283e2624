// Builds the web console: dist/console/index.html, and its assets with hashed names, compressed once.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const SOURCE = "src/console";
const TARGET = "dist/console";
const STAMP = `${TARGET}/.inputs`;
/** What the page is made of, besides its packages, which the lock file pins. */
const INPUTS = [SOURCE, "src/base", "src/client", "src/protocol", "src/rpc", "src/transport"];

/** Builds the page, unless it is there and nothing that it is made of has changed. */
export async function buildConsole() {
  const digest = inputsDigest();
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === digest) return;
  rmSync(TARGET, { recursive: true, force: true });
  mkdirSync(TARGET, { recursive: true });
  const { metafile } = await build({
    entryPoints: [`${SOURCE}/main.tsx`, `${SOURCE}/styles.css`],
    outdir: `${TARGET}/assets`,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    conditions: ["browser"],
  });
  writeFileSync(`${TARGET}/index.html`, indexPage(metafile));
  for (const file of filesBelow(TARGET))
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
  writeFileSync(STAMP, digest);
}

function inputsDigest() {
  const hash = createHash("sha256");
  const files = [
    ...INPUTS.flatMap((folder) => filesBelow(folder)),
    "package-lock.json",
    "scripts/build-console.mjs",
  ];
  for (const file of files.filter((name) => !name.endsWith(".test.ts")))
    hash.update(`${file}\0`).update(readFileSync(file));
  return hash.digest("hex");
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** The page, with the names of what it loads at once. */
function indexPage({ outputs }) {
  const builtFrom = (entry) =>
    Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === `${SOURCE}/${entry}`);
  const [main, { imports }] = builtFrom("main.tsx");
  const [styles] = builtFrom("styles.css");
  const url = (path) => path.replace(TARGET, "");
  const chunks = imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => path);
  const head = [
    `<link rel="stylesheet" href="${url(styles)}">`,
    ...chunks.map((path) => `<link rel="modulepreload" href="${url(path)}">`),
    `<script type="module" src="${url(main)}"></script>`,
  ];
  return readFileSync(`${SOURCE}/index.html`, "utf8").replace("<!-- assets -->", head.join("\n    "));
}
