// Builds the command line (dist/cli.js, dist/program.js and dist/client.js), the file helper, the server of a user, the web console
// and, without --cli-only, the library.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildConsole } from "./build-console.mjs";
import { buildLibrary } from "./build-library.mjs";
import {
  buildClient,
  buildSandboxHelper,
  buildLauncher,
  buildMcpHttp,
  buildProgram,
  buildReceiver,
  buildSpoolThread,
  buildUserServer,
} from "./build-program.mjs";
import { describeBundle } from "./describe-bundle.mjs";
import { buildParts } from "./parts.mjs";
import { warmCodeCache } from "./warm-code-cache.mjs";
import { writeLicenses } from "./write-licenses.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const { version } = JSON.parse(readFileSync("package.json", "utf8"));

mkdirSync("dist", { recursive: true });
// Node starts a CommonJS module faster than an ES module.
writeFileSync("dist/package.json", '{ "type": "commonjs" }\n');
const metafiles = await buildParts("dist/parts");
const launcher = await buildLauncher();
writeFileSync("dist/cli.js", launcher.text, { mode: 0o755 });
const programs = {
  "dist/sandbox-helper.js": await buildSandboxHelper(),
  "dist/user-server.js": await buildUserServer(version),
  "dist/spool-thread.js": await buildSpoolThread(),
  "dist/program.js": await buildProgram(version),
  "dist/mcp-http.js": await buildMcpHttp(version),
  "dist/client.js": await buildClient(version),
};
const isSame = ([path, { text }]) => existsSync(path) && readFileSync(path, "utf8") === text;
if (!Object.entries(programs).every(isSame)) {
  rmSync("dist/cache", { recursive: true, force: true });
  for (const [path, { text }] of Object.entries(programs)) writeFileSync(path, text);
}
const receiver = await buildReceiver();
writeFileSync("dist/receive.js", receiver.text);
writeFileSync("dist/bundle.json", describeBundle("dist", version));
await warmCodeCache("dist/cli.js");
await buildConsole();

if (!process.argv.includes("--cli-only")) metafiles.push(await buildLibrary());
metafiles.push(...[launcher, ...Object.values(programs)].map(({ metafile }) => metafile));
writeLicenses("dist/licenses.txt", metafiles);
