import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const CODEX_VERSION = "0.166.0";
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const prefix = join(root, ".cache", "codex");

/**
 * The native binary of the real server: the one named by CODEX_EXEC_SERVER, else the one installed under
 * `.cache/codex`. Undefined if there is none; a variable that names a missing file is an error.
 */
export function findCodexBinary() {
  const named = process.env.CODEX_EXEC_SERVER;
  if (named !== undefined && named !== "") {
    if (!existsSync(named)) throw new Error(`CODEX_EXEC_SERVER names a file that does not exist: ${named}`);
    return named;
  }
  const vendor = join(prefix, "node_modules", "@openai", `codex-linux-${process.arch}`, "vendor");
  if (!existsSync(vendor)) return undefined;
  return readdirSync(vendor)
    .map((triple) => join(vendor, triple, "bin", "codex"))
    .find((binary) => existsSync(binary));
}

/** Installs the real server if it is missing and returns the path of its binary. */
export function installCodex() {
  if (process.platform !== "linux" || (process.arch !== "x64" && process.arch !== "arm64")) {
    throw new Error(
      `codex ${CODEX_VERSION} is tested on linux x64 and arm64, not ${process.platform} ${process.arch}`,
    );
  }
  const present = findCodexBinary();
  if (present !== undefined) return checkVersion(present);
  console.log(`installing @openai/codex@${CODEX_VERSION} into .cache/codex`);
  mkdirSync(prefix, { recursive: true });
  writeFileSync(join(prefix, "package.json"), `${JSON.stringify({ name: "codex-cache", private: true })}\n`);
  try {
    execFileSync(
      "npm",
      [
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--prefix",
        prefix,
        `@openai/codex@${CODEX_VERSION}`,
      ],
      { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" },
    );
  } catch (error) {
    throw new Error(
      `npm could not install @openai/codex@${CODEX_VERSION}:\n${String(error.stderr ?? "").trim()}`,
      {
        cause: error,
      },
    );
  }
  const installed = findCodexBinary();
  if (installed === undefined) {
    throw new Error(
      `@openai/codex@${CODEX_VERSION} was installed without its native package codex-linux-${process.arch} ` +
        "(does npm omit optional dependencies?)",
    );
  }
  return checkVersion(installed);
}

function checkVersion(binary) {
  const answer = execFileSync(binary, ["--version"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [version = ""] = answer.split("\n");
  if (!version.split(" ").includes(CODEX_VERSION)) {
    throw new Error(`${binary} says "${version}", expected version ${CODEX_VERSION}`);
  }
  return binary;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    console.log(installCodex());
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
