// Builds dist/cli.js, one file with everything but the native FFI library and what is seldom needed, and (without --cli-only) the library as ES modules.
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

/** Messages are English; the other fifty languages would be a quarter of the program. */
const onlyEnglish = {
  name: "only-english",
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    })),
};

await build({
  entryPoints: ["src/cli/main.ts"],
  outfile: "dist/cli.js",
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  minifySyntax: true,
  // Node keeps the text in memory, at two bytes a character if a single comment is not Latin.
  minifyWhitespace: true,
  legalComments: "none",
  external: ["koffi", "@xterm/headless"],
  plugins: [onlyEnglish],
  define: { EXEC_SERVER_VERSION: JSON.stringify(version) },
  // Bundled CommonJS modules call `require` for Node's own.
  banner: {
    js: 'import { createRequire as createRequireOfBundle } from "node:module"; const require = createRequireOfBundle(import.meta.url);',
  },
});
chmodSync("dist/cli.js", 0o755);

if (!process.argv.includes("--cli-only")) {
  rmSync("dist/lib", { recursive: true, force: true });
  const tsc = spawnSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
  process.exitCode = tsc.status ?? 1;
}
