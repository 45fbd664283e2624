import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const CACHE = fileURLToPath(new URL("../.cache/nodes", import.meta.url));

/** Installs a version of Node under `.cache/nodes` if it is missing, and returns the path of its binary. */
export function installNode(version) {
  const name = `node-linux-${process.arch}`;
  const prefix = join(CACHE, version);
  const binary = join(prefix, "node_modules", name, "bin", "node");
  if (!existsSync(binary)) {
    console.log(`installing ${name}@${version} into .cache/nodes`);
    mkdirSync(prefix, { recursive: true });
    writeFileSync(join(prefix, "package.json"), '{ "private": true }\n');
    execFileSync(
      "npm",
      ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", prefix, `${name}@${version}`],
      { stdio: ["ignore", "ignore", "inherit"] },
    );
  }
  const found = execFileSync(binary, ["--version"], { encoding: "utf8" }).trim();
  if (found !== `v${version}`) throw new Error(`${binary} is ${found}, expected v${version}`);
  return binary;
}
