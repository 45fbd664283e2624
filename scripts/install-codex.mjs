import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The release whose wire this project speaks. */
export const CODEX_VERSION = "0.169.0";
/** The releases that tests compare with, newest first. */
export const CODEX_VERSIONS = [CODEX_VERSION, "0.166.0"];
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const prefixOf = (version) => join(root, ".cache", "codex", version);

/**
 * The native binary of the real server: the one named by CODEX_EXEC_SERVER if this is about the newest release, else
 * the one installed under `.cache/codex`. Undefined if there is none; a variable that names a missing file is an error.
 */
export function findCodexBinary(version = CODEX_VERSION) {
  const named = process.env.CODEX_EXEC_SERVER;
  if (version === CODEX_VERSION && named !== undefined && named !== "") {
    if (!existsSync(named)) throw new Error(`CODEX_EXEC_SERVER names a file that does not exist: ${named}`);
    return named;
  }
  const vendor = join(prefixOf(version), "node_modules", "@openai", `codex-linux-${process.arch}`, "vendor");
  if (!existsSync(vendor)) return undefined;
  return readdirSync(vendor)
    .map((triple) => join(vendor, triple, "bin", "codex"))
    .find((binary) => existsSync(binary));
}

/** Installs a release of the real server if it is missing, and returns the path of its binary. */
export function installCodex(version = CODEX_VERSION) {
  const prefix = prefixOf(version);
  if (process.platform !== "linux" || (process.arch !== "x64" && process.arch !== "arm64")) {
    throw new Error(
      `codex ${version} is tested on linux x64 and arm64, not ${process.platform} ${process.arch}`,
    );
  }
  const present = findCodexBinary(version);
  if (present !== undefined) return checkVersion(present, version);
  console.log(`installing @openai/codex@${version} into .cache/codex`);
  mkdirSync(prefix, { recursive: true });
  writeFileSync(join(prefix, "package.json"), `${JSON.stringify({ name: "codex-cache", private: true })}\n`);
  try {
    execFileSync(
      "npm",
      ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", prefix, `@openai/codex@${version}`],
      { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" },
    );
  } catch (error) {
    throw new Error(`npm could not install @openai/codex@${version}:\n${String(error.stderr ?? "").trim()}`, {
      cause: error,
    });
  }
  const installed = findCodexBinary(version);
  if (installed === undefined) {
    throw new Error(
      `@openai/codex@${version} was installed without its native package codex-linux-${process.arch} ` +
        "(does npm omit optional dependencies?)",
    );
  }
  return checkVersion(installed, version);
}

function checkVersion(binary, expected) {
  const answer = execFileSync(binary, ["--version"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [version = ""] = answer.split("\n");
  if (!version.split(" ").includes(expected)) {
    throw new Error(`${binary} says "${version}", expected version ${expected}`);
  }
  return binary;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    for (const version of CODEX_VERSIONS) console.log(installCodex(version));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
