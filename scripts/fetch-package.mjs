import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const CACHE = ".cache/packages";

/**
 * Downloads one package of npm, whatever its platform, unless .cache/packages has it. Returns its directory. Nothing of
 * it is used unless it is exactly what the integrity says.
 */
export function fetchPackage(name, version, integrity) {
  const directory = join(CACHE, `${name.replace("/", "-")}-${version}`);
  if (existsSync(directory)) return join(directory, "package");
  const download = `${directory}.download`;
  rmSync(download, { recursive: true, force: true });
  mkdirSync(download, { recursive: true });
  console.log(`downloading ${name}@${version}`);
  const packed = execFileSync(
    "npm",
    ["pack", "--silent", "--pack-destination", download, `${name}@${version}`],
    { encoding: "utf8" },
  );
  const file = join(download, packed.trim());
  const found = `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`;
  if (found !== integrity) throw new Error(`${name}@${version} is ${found}, expected ${integrity}`);
  execFileSync("tar", ["-xzf", file, "-C", download]);
  rmSync(file);
  renameSync(download, directory);
  return join(directory, "package");
}
