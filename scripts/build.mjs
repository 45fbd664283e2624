// Builds dist/cli.js, one file with everything but the native FFI library and what is seldom needed, and (without --cli-only) the library as ES modules.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildProgram } from "./build-program.mjs";
import { makeCodeCache } from "./code-cache.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

mkdirSync("dist", { recursive: true });
// Node starts a CommonJS module sooner than an ES module.
writeFileSync("dist/package.json", '{ "type": "commonjs" }\n');
const program = await buildProgram(version);
// The cache takes seconds; what is there of the same program will do.
const isBuilt = ["dist/cli.js", "dist/cli.js.cache"].every((file) => existsSync(file));
if (!isBuilt || readFileSync("dist/cli.js", "utf8") !== program) {
  writeFileSync("dist/cli.js", program, { mode: 0o755 });
  await makeCodeCache("dist/cli.js");
}

if (!process.argv.includes("--cli-only")) {
  rmSync("dist/lib", { recursive: true, force: true });
  const tsc = spawnSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
  writeFileSync("dist/lib/package.json", '{ "type": "module" }\n');
  process.exitCode = tsc.status ?? 1;
}
