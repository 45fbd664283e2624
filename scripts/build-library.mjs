// Builds the library, dist/lib: an ES module for each entry of package.json, the chunks that they share, and their types.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { onlyEnglish } from "./build-program.mjs";
import { allParts, WITHOUT_NATIVE_PARTS } from "./parts.mjs";

const TARGET = "dist/lib";
const EMITTED = ".cache/types";
const ENTRIES = [
  "client/index",
  "client/browser",
  "server/index",
  "transport/index",
  "protocol/index",
  "rows/index",
];
const SPECIFIER = /(?<=\b(?:from |import\()")[^"]+(?=")/g;
/** The types of the wire are zod's, so those of zod are among ours. */
const ZOD = { specifier: "zod", main: "zod/v4/classic/external.d.ts" };
const ENGLISH_TYPES = 'export { default as en } from "./en.js";\n';

/** Returns what esbuild says of its inputs. */
export async function buildLibrary() {
  rmSync(TARGET, { recursive: true, force: true });
  const metafile = await bundleLibrary();
  const args = ["-p", "tsconfig.build.json"];
  rmSync(EMITTED, { recursive: true, force: true });
  const { status } = spawnSync("node_modules/.bin/tsc", args, { stdio: "inherit" });
  if (status !== 0) throw new Error("tsc did not emit the types of the library");
  copyTypes();
  writeFileSync(`${TARGET}/package.json`, '{ "type": "module" }\n');
  return metafile;
}

async function bundleLibrary() {
  const { metafile, outputFiles } = await build({
    entryPoints: ENTRIES.map((entry) => `src/${entry}.ts`),
    outbase: "src",
    outdir: TARGET,
    // As deep as the entries, so that files beside the library have the same relative path.
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    splitting: true,
    platform: "node",
    target: "node20",
    format: "esm",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    metafile: true,
    write: false,
    external: ["koffi"],
    plugins: [onlyEnglish, allParts],
    define: WITHOUT_NATIVE_PARTS,
  });
  for (const { path, text } of outputFiles) {
    // What esbuild puts in place of it.
    if (text.includes("Dynamic require of"))
      throw new Error(`${path} calls require: add the package to scripts/parts.mjs`);
    writeBelow(path, text);
  }
  return metafile;
}

/** Copies the declarations that the entries refer to, directly or not. */
function copyTypes() {
  const waiting = ENTRIES.map((entry) => `${entry}.d.ts`);
  const seen = new Set(waiting);
  for (const path of waiting) {
    const text = readTypes(path).replace(SPECIFIER, (specifier) => {
      const target = targetOf(path, specifier);
      if (target === undefined) return specifier;
      if (!seen.has(target)) waiting.push(target);
      seen.add(target);
      if (specifier !== ZOD.specifier) return specifier;
      return relative(dirname(path), target).replace(/\.d\.ts$/, ".js");
    });
    writeBelow(join(TARGET, path), text);
  }
}

function targetOf(path, specifier) {
  if (specifier === ZOD.specifier) return ZOD.main;
  if (specifier.startsWith(".")) return join(dirname(path), specifier.replace(/\.[jt]s$/, ".d.ts"));
  if (specifier.startsWith("node:")) return undefined;
  throw new Error(`${path} has types of ${specifier}, which users do not install`);
}

function readTypes(path) {
  if (path === "zod/v4/locales/index.d.ts") return ENGLISH_TYPES;
  return readFileSync(join(path.startsWith("zod/") ? "node_modules" : EMITTED, path), "utf8");
}

function writeBelow(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
