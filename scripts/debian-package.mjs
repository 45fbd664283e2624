import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";

/** Asked by the scripts of packages whether they may start their services; 101 means no. */
const SERVICE_POLICY = "/usr/sbin/policy-rc.d";
const NO_SERVICES = "#!/bin/sh\n# Only while packages for tests are installed.\nexit 101\n";

/**
 * Makes sure that programs of Debian packages can be run. Root installs the packages that are missing, in one go, and
 * none of their services is started, now or when the machine starts. Returns false and says what to do if a program is
 * still missing.
 * @param {Readonly<Record<string, string>>} packages The package of each program.
 * @param {Readonly<Record<string, string>>} services The service of each package that has one.
 */
export function ensurePrograms(packages, services = {}) {
  const isMissing = ([program]) => spawnSync(program, ["--version"]).error !== undefined;
  const namesOf = (entries) => [...new Set(entries.map(([, name]) => name))];
  let missing = Object.entries(packages).filter(isMissing);
  if (missing.length > 0 && process.getuid?.() === 0) {
    const names = namesOf(missing);
    withoutServices(() => {
      const install = () => apt("install", "-y", "-q", "--no-install-recommends", ...names);
      // A new machine may have no lists of packages yet.
      if (!install() && apt("update", "-q")) install();
    });
    for (const name of names) if (name in services) disableService(services[name]);
    missing = missing.filter(isMissing);
  }
  if (missing.length === 0) return true;
  console.error(
    `missing: ${missing.map(([program]) => program).join(", ")} (Debian: apt-get install ${namesOf(missing).join(" ")})`,
  );
  return false;
}

/** Some packages have a script for it, others only a unit of systemd. */
function disableService(service) {
  if (spawnSync("update-rc.d", [service, "disable"]).status === 0) return;
  spawnSync("systemctl", ["disable", service], { stdio: "inherit" });
}

function apt(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return spawnSync("apt-get", args, { stdio: "inherit", env }).status === 0;
}

/** A machine that has its own policy keeps it. */
function withoutServices(install) {
  if (existsSync(SERVICE_POLICY)) {
    install();
    return;
  }
  const wait = () => {};
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  // The policy must not stay behind: apt-get ends at these by itself.
  for (const signal of signals) process.on(signal, wait);
  try {
    writeFileSync(SERVICE_POLICY, NO_SERVICES, { mode: 0o755 });
    install();
  } finally {
    rmSync(SERVICE_POLICY, { force: true });
    for (const signal of signals) process.off(signal, wait);
  }
}
