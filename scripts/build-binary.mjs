// `npm run build:binary`: makes binaries/exec-server-linux-x64 and -arm64, each a Node with everything that exec-server needs,
// and SHA256SUMS. The same commit gives the same bytes. Arguments choose architectures: `npm run build:binary -- x64`.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { buildOneFile } from "./build-program.mjs";
import { FFI_FILES, ffiBinaries } from "./describe-bundle.mjs";
import { fetchPackage } from "./fetch-package.mjs";

const NODE_VERSION = "24.21.0";
const NODES = {
  x64: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  arm64: "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
};
/** Puts a section into an executable; it is Node's own tool for that. */
const POSTJECT = [
  "postject",
  "1.0.0-alpha.6",
  "sha512-b9Eb8h2eVqNE8edvKdwqkrY6O7kAwmI8kcnBv1NScolYJbo59XUF0noFq+lxbC1yN20bmC0WBEbDC5H/7ASb0A==",
];
/** Marks in Node's binary whether it has a program of its own. */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
const OUTPUT = "binaries";
const MIB = 1_048_576;

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
const chosen = process.argv.slice(2);
const architectures = chosen.length === 0 ? Object.keys(NODES) : chosen;
const unknown = architectures.find((arch) => !Object.hasOwn(NODES, arch));
if (unknown !== undefined) throw new Error(`no such architecture: ${unknown}`);

execFileSync(process.execPath, ["scripts/build.mjs", "--cli-only"], { stdio: "inherit" });
mkdirSync(OUTPUT, { recursive: true });
const nodeOf = (arch) => join(fetchPackage(`node-linux-${arch}`, NODE_VERSION, NODES[arch]), "bin/node");
const { inject } = createRequire(import.meta.url)(
  join(process.cwd(), fetchPackage(...POSTJECT), "dist/api.js"),
);

for (const arch of architectures) {
  const binary = join(OUTPUT, `exec-server-linux-${arch}`);
  const bundle = packBundle(arch);
  const hash = createHash("sha256").update(bundle).digest("hex").slice(0, 16);
  const work = join(".cache/binary", arch);
  mkdirSync(work, { recursive: true });
  const at = (name) => join(work, name);
  writeFileSync(at("bundle"), bundle);
  writeFileSync(at("main.js"), (await buildOneFile(`${version}-${hash}`)).text);
  const settings = {
    main: at("main.js"),
    output: at("blob"),
    disableExperimentalSEAWarning: true,
    assets: { bundle: at("bundle") },
  };
  writeFileSync(at("settings.json"), JSON.stringify(settings));
  // The blob is the same for every architecture; only a Node of this machine's can make it.
  execFileSync(nodeOf(process.arch), ["--experimental-sea-config", at("settings.json")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const node = readFileSync(nodeOf(arch));
  writeFileSync(binary, node);
  await inject(binary, "NODE_SEA_BLOB", readFileSync(at("blob")), { sentinelFuse: FUSE });
  chmodSync(binary, 0o755);
}

const names = readdirSync(OUTPUT)
  .filter((name) => name.startsWith("exec-server-"))
  .sort();
const sums = names.map(
  (name) =>
    `${createHash("sha256")
      .update(readFileSync(join(OUTPUT, name)))
      .digest("hex")}  ${name}\n`,
);
writeFileSync(join(OUTPUT, "SHA256SUMS"), sums.join(""));
for (const name of names) {
  const size = statSync(join(OUTPUT, name)).size;
  const packed = gzipSync(readFileSync(join(OUTPUT, name))).length;
  console.log(`${name}: ${(size / MIB).toFixed(1)} MiB, ${(packed / MIB).toFixed(1)} MiB with gzip`);
}
process.stdout.write(sums.join(""));

/** Everything in dist/ that the programs load, and the FFI library for the architecture. */
function packBundle(arch) {
  const name = `@koromix/koffi-linux-${arch}`;
  const { version: ffiVersion, integrity } = packages[`node_modules/${name}`];
  const ffi = fetchPackage(name, ffiVersion, integrity);
  const files = [
    ...filesIn("dist")
      .filter((path) => !/^(?:cache|lib)\//.test(path))
      .map((path) => [path, join("dist", path)]),
    ...FFI_FILES.map((path) => [`node_modules/koffi/${path}`, join("node_modules/koffi", path)]),
    ...ffiBinaries(arch).map((path) => [`node_modules/${name}/${path}`, join(ffi, path)]),
  ].map(([path, from]) => [path, readFileSync(from)]);
  const index = JSON.stringify(files.map(([path, content]) => [path, content.length]));
  return gzipSync(Buffer.concat([Buffer.from(`${index}\n`), ...files.map(([, content]) => content)]));
}

function filesIn(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(directory.length + 1))
    .sort();
}
