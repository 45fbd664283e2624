import { spawnSync } from "node:child_process";

/**
 * Makes sure that a program of a Debian package can be run. Root installs the package if it is missing. Returns false
 * and says what to do if the program is still missing.
 * @param {string} program
 * @param {string} packageName
 */
export function ensureProgram(program, packageName) {
  const isThere = () => spawnSync(program, ["--version"]).error === undefined;
  if (isThere()) return true;
  if (process.getuid?.() === 0) {
    const apt = (...args) => spawnSync("apt-get", args, { stdio: "inherit" }).status === 0;
    const install = () => apt("install", "-y", "-q", "--no-install-recommends", packageName);
    // A new machine may have no lists of packages yet.
    if ((install() || (apt("update", "-q") && install())) && isThere()) return true;
  }
  console.error(
    `${program} is missing: install the package ${packageName} (Debian: apt-get install ${packageName})`,
  );
  return false;
}
