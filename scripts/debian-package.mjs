import { spawnSync } from "node:child_process";

/**
 * Makes sure that programs of Debian packages can be run. Root installs the packages that are missing, in one go.
 * Returns false and says what to do if a program is still missing.
 * @param {Readonly<Record<string, string>>} packages The package of each program.
 */
export function ensurePrograms(packages) {
  const isMissing = ([program]) => spawnSync(program, ["--version"]).error !== undefined;
  const namesOf = (entries) => [...new Set(entries.map(([, name]) => name))];
  let missing = Object.entries(packages).filter(isMissing);
  if (missing.length > 0 && process.getuid?.() === 0) {
    const apt = (...args) =>
      spawnSync("apt-get", args, {
        stdio: "inherit",
        env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      }).status === 0;
    const install = () => apt("install", "-y", "-q", "--no-install-recommends", ...namesOf(missing));
    // A new machine may have no lists of packages yet.
    if (!install() && apt("update", "-q")) install();
    missing = missing.filter(isMissing);
  }
  if (missing.length === 0) return true;
  console.error(
    `missing: ${missing.map(([program]) => program).join(", ")} (Debian: apt-get install ${namesOf(missing).join(" ")})`,
  );
  return false;
}
