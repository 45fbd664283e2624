// Builds the command line (dist/cli.js, dist/program.js and dist/client.js), the file helper, the server of a user, the web console
// and, without --cli-only, the library as ES modules.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildConsole } from "./build-console.mjs";
import {
  buildClient,
  buildSandboxHelper,
  buildLauncher,
  buildProgram,
  buildUserServer,
} from "./build-program.mjs";
import { warmCodeCache } from "./warm-code-cache.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

mkdirSync("dist", { recursive: true });
// Node starts a CommonJS module faster than an ES module.
writeFileSync("dist/package.json", '{ "type": "commonjs" }\n');
writeFileSync("dist/cli.js", await buildLauncher(), { mode: 0o755 });
writeFileSync("dist/sandbox-helper.js", await buildSandboxHelper());
writeFileSync("dist/user-server.js", await buildUserServer(version));
const programs = {
  "dist/program.js": await buildProgram(version),
  "dist/client.js": await buildClient(version),
};
const isSame = ([path, text]) => existsSync(path) && readFileSync(path, "utf8") === text;
if (!Object.entries(programs).every(isSame)) {
  rmSync("dist/cache", { recursive: true, force: true });
  for (const [path, text] of Object.entries(programs)) writeFileSync(path, text);
}
await warmCodeCache("dist/cli.js");
await buildConsole();

if (!process.argv.includes("--cli-only")) {
  rmSync("dist/lib", { recursive: true, force: true });
  const tsc = spawnSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
  writeFileSync("dist/lib/package.json", '{ "type": "module" }\n');
  process.exitCode = tsc.status ?? 1;
}
