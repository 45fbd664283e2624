import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What a server on stdio, and the user's own server, need of dist/. Everything else stays here. */
const FILES = [
  "package.json",
  "cli.js",
  "program.js",
  "client.js",
  "sandbox-helper.js",
  "parts/undici.js",
  "parts/xterm-headless.js",
  "parts/yaml.js",
];
/** The FFI library has a package for each platform, of which only this machine's is here. */
export const FFI_FILES = ["package.json", "index.cjs", "src/koffi/index.cjs", "src/koffi/src/static.cjs"];

/** Of the package with its binary for one architecture: for glibc, and for musl. */
export const ffiBinaries = (arch) => [
  "package.json",
  "index.js",
  `linux_${arch}/koffi.node`,
  `musl_${arch}/koffi.node`,
];

/** dist/bundle.json: the files that exec-server brings to another machine, and what names their directory there. */
export function describeBundle(dist, version) {
  const ffi = "node_modules/koffi";
  const hash = createHash("sha256").update(version);
  for (const name of FILES) hash.update(readFileSync(join(dist, name)));
  for (const name of FFI_FILES) hash.update(readFileSync(join(ffi, name)));
  return `${JSON.stringify({ version, hash: hash.digest("hex"), files: FILES, ffiFiles: FFI_FILES }, undefined, 2)}\n`;
}
