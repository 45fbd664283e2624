import { existsSync, readFileSync } from "node:fs";
import { release } from "node:os";
import { resultOr } from "../../native/result-or.ts";

/** Facts about a machine that a diagnosis needs. */
export interface MachineFacts {
  readonly platform: string;
  readonly architecture: string;
  readonly kernel: string;
  /** `ID` and `ID_LIKE` of the system, such as `ubuntu` and `debian`. */
  readonly distributions: readonly string[];
  readonly isRoot: boolean;
  readonly isContainer: boolean;
  /** Settings of the kernel that exist here, by name. */
  readonly settings: Readonly<Partial<Record<Setting, string>>>;
}

const SETTINGS = {
  "user.max_user_namespaces": "/proc/sys/user/max_user_namespaces",
  "kernel.unprivileged_userns_clone": "/proc/sys/kernel/unprivileged_userns_clone",
  "kernel.apparmor_restrict_unprivileged_userns": "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
} as const;

type Setting = keyof typeof SETTINGS;

const SIGNS_OF_A_CONTAINER = ["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"];

export function readMachineFacts(): MachineFacts {
  const settings: Partial<Record<Setting, string>> = {};
  for (const [name, path] of Object.entries(SETTINGS) as [Setting, string][]) {
    const value = read(path)?.trim();
    if (value !== undefined) settings[name] = value;
  }
  return {
    platform: process.platform,
    architecture: process.arch,
    kernel: release(),
    distributions: distributionsOf(read("/etc/os-release") ?? ""),
    isRoot: process.geteuid?.() === 0,
    isContainer: SIGNS_OF_A_CONTAINER.some((path) => existsSync(path)),
    settings,
  };
}

/** Names from the text of /etc/os-release, the system's own first. */
export function distributionsOf(osRelease: string): string[] {
  const value = (name: string): string =>
    osRelease
      .split("\n")
      .find((line) => line.startsWith(`${name}=`))
      ?.slice(name.length + 1)
      .replaceAll(/["']/g, "") ?? "";
  return `${value("ID")} ${value("ID_LIKE")}`.split(" ").filter((name) => name !== "");
}

function read(path: string): string | undefined {
  // Not every kernel and system has every file.
  return resultOr(undefined, () => readFileSync(path, "utf8"));
}
