// Builds the web console: dist/console/index.html, and its assets with hashed names, compressed.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { makeWireTable } from "./wire-table.mjs";
import { writeLicenses } from "./write-licenses.mjs";

const SOURCE = "src/console";
const TARGET = "dist/console";
const TARGETS = ["chrome123", "firefox120", "safari17.5"];
const STAMP = `${TARGET}/.inputs`;
/** What is loaded later by itself, but is the first thing that a person sees: it is fetched with the page. */
const OPENING = ["process-table/processes-view.tsx"];
/** The page, parts that it imports when it needs them, and the page of a fleet. All of them have the same frame. */
const FRAMED =
  /\/src\/console\/(?:main|[\w-]+\/(?:processes|terminals|files|ports|rows|inspector|system)-view|files\/markdown\/markdown-view|start\/start-dialog|terminals\/terminal-pane|fleet\/fleet-page)\.tsx$/;
/** What the page is made of, besides its packages, which the lock file pins. */
const INPUTS = [SOURCE, "src/base", "src/client", "src/protocol", "src/rpc", "src/transport"];
const INPUT_FILES = [
  "package-lock.json",
  "scripts/build-console.mjs",
  "scripts/wire-table.mjs",
  "src/server/settings/presets.ts",
];

/** The wire table for the inspector: a separate part with data only, without the schema library. */
const wireTable = {
  name: "wire-table",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/wire-table\.json$/ }, ({ path }) => ({ path, namespace: "wire-table" }));
    onLoad({ filter: /.*/, namespace: "wire-table" }, async () => ({
      contents: JSON.stringify(await makeWireTable()),
      loader: "json",
    }));
  },
};

/** Languages that people rarely edit on a server: together they would be 80 kB. Their text has no highlighting. */
const RARE_LANGUAGES = `
  apl asciiarmor asn1 asterisk brainfuck cobol coffeescript cypher dylan ebnf ecl eiffel factor fcl forth gas
  gherkin haxe idl livescript mathematica mbox mirc modelica mscgen mumps nsis ntriples octave oz pig pug q sas
  sieve smalltalk solr sparql spreadsheet stylus textile tiddlywiki tiki troff ttcn-cfg ttcn turtle vb vbscript
  velocity verilog vhdl webidl xquery yacas z80
`;
const withoutRareLanguages = {
  name: "without-rare-languages",
  setup({ onLoad, onResolve }) {
    const filter = new RegExp(
      `^@codemirror/legacy-modes/mode/(?:${RARE_LANGUAGES.trim().split(/\s+/).join("|")})$`,
    );
    onResolve({ filter }, () => ({ path: "rare", namespace: "rare-languages" }));
    onLoad({ filter: /^/, namespace: "rare-languages" }, () => ({ contents: "export {};" }));
  },
};

/** Styles that a view imports, as a style sheet beside its code. */
const lateStyles = {
  name: "late-styles",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\.css$/ }, ({ path, kind, resolveDir }) =>
      kind === "import-statement" ? { path: join(resolveDir, path), namespace: "late-styles" } : undefined,
    );
    onLoad({ filter: /.*/, namespace: "late-styles" }, async ({ path }) => {
      const options = { bundle: true, minify: true, write: false, charset: "utf8", target: TARGETS };
      const { outputFiles } = await build({ entryPoints: [path], ...options });
      const text = JSON.stringify(outputFiles[0].text);
      return {
        contents: `const styles = new CSSStyleSheet(); styles.replaceSync(${text}); export default styles;`,
      };
    });
  },
};

/** Builds the page, unless it is there and nothing that it is made of has changed. */
export async function buildConsole() {
  const digest = inputsDigest();
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === digest) return;
  rmSync(TARGET, { recursive: true, force: true });
  mkdirSync(TARGET, { recursive: true });
  const { metafile } = await build({
    entryPoints: ["main.tsx", "styles.css", "fleet/fleet-page.tsx", "fleet/fleet.css"].map(
      (path) => `${SOURCE}/${path}`,
    ),
    outdir: `${TARGET}/assets`,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: TARGETS,
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    conditions: ["browser"],
    plugins: [wireTable, frameInOnePiece, lateStyles, withoutRareLanguages],
    // The imports of the frame do nothing but say in which chunk it is.
    logOverride: { "ignored-bare-import": "silent" },
  });
  const page = (parts) => pageOf(metafile, parts);
  writeFileSync(`${TARGET}/index.html`, page({ main: "main.tsx", styles: ["styles.css"], opening: OPENING }));
  const styles = ["styles.css", "fleet/fleet.css"];
  writeFileSync(`${TARGET}/fleet.html`, page({ main: "fleet/fleet-page.tsx", styles, opening: [] }));
  // Browsers take them compressed; for anything else the server unpacks them.
  for (const file of filesBelow(`${TARGET}/assets`)) {
    writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
    rmSync(file);
  }
  writeLicenses(`${TARGET}/licenses.txt`, [metafile]);
  writeFileSync(STAMP, digest);
}

/**
 * esbuild makes a chunk of whatever the same set of entries needs, which would be dozens of small ones. Each part imports
 * all of the frame of the page, whether it needs it or not: so that is one chunk.
 */
const frameInOnePiece = {
  name: "frame-in-one-piece",
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^console-frame$/ }, ({ path }) => ({ path, namespace: "console-frame" }));
    onLoad({ filter: /^/, namespace: "console-frame" }, () => ({
      contents: frameFiles()
        .map((path) => `import "./${path}";`)
        .join("\n"),
      resolveDir: resolve(SOURCE),
    }));
    onLoad({ filter: FRAMED }, ({ path }) => ({
      contents: `import "console-frame";\n${readFileSync(path, "utf8")}`,
      loader: "tsx",
    }));
  },
};

/** What every view may use. */
function frameFiles() {
  const ui = readdirSync(`${SOURCE}/ui`).filter((name) => /\.tsx?$/.test(name) && !name.includes(".test."));
  return ["app/app.tsx", "frame/view-frame.tsx", "connection/use-host.ts", ...ui.map((name) => `ui/${name}`)];
}

function inputsDigest() {
  const hash = createHash("sha256");
  const files = [...INPUTS.flatMap((folder) => filesBelow(folder)), ...INPUT_FILES];
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

/** A page, with the names of what it loads at once: itself, and the view that it opens on. */
function pageOf({ outputs }, { main: entry, styles, opening }) {
  const builtFrom = (source) =>
    Object.keys(outputs).find((path) => outputs[path].entryPoint === `${SOURCE}/${source}`);
  const main = builtFrom(entry);
  const early = new Set();
  const add = (path) => {
    if (early.has(path)) return;
    early.add(path);
    for (const { kind, path: imported } of outputs[path].imports)
      if (kind === "import-statement") add(imported);
  };
  for (const source of [entry, ...opening]) add(builtFrom(source));
  early.delete(main);
  const url = (path) => path.replace(TARGET, "");
  const head = [
    ...styles.map((path) => `<link rel="stylesheet" href="${url(builtFrom(path))}">`),
    `<script type="module" src="${url(main)}"></script>`,
    ...[...early].map((path) => `<link rel="modulepreload" href="${url(path)}">`),
  ];
  return readFileSync(`${SOURCE}/index.html`, "utf8").replace("<!-- assets -->", head.join("\n    "));
}
