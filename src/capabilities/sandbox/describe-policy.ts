import { visibleText } from "../../base/visible-text.ts";
import { type Disk, systemDisk } from "./view/disk.ts";
import type { FileView, ViewMount } from "./view/file-view.ts";
import { PathWalk } from "./view/path-walk.ts";
import { SYSTEM_DIRECTORIES } from "./view/policy-layer.ts";
import { hidingPlaces, namesOf, type ServerFiles } from "./view/server-files.ts";
import { isProtectedName } from "./view/protected-names.ts";
import { type FileAccess, type NetworkMode, ruleSets, type SandboxPolicy } from "./policy/sandbox-policy.ts";

/** A policy and its effect, for people and as JSON. */
export interface PolicyDescription {
  readonly network: NetworkMode;
  /** Access to every path that no other line is about. */
  readonly everythingElse: "read" | "write" | "hidden";
  /** Outer paths first. Each line holds for everything below its path, up to the next line. */
  readonly paths: readonly PathDescription[];
  /** Patterns that hide what matches when a sandbox starts. */
  readonly patterns: readonly string[];
}

interface PathDescription {
  readonly path: string;
  /** `reserved`: does not exist, or is empty, and cannot be created or filled. */
  readonly access: "read" | "write" | "hidden" | "reserved" | "link";
  readonly reason: string;
}

export interface DescribeOptions {
  /** As given to `viewOf`. */
  readonly files?: ServerFiles;
  readonly disk?: Disk;
}

export function describePolicy(
  policy: SandboxPolicy,
  view: FileView,
  { files: { hiddenPaths, maskedPaths = [] } = { hiddenPaths: [] }, disk = systemDisk }: DescribeOptions = {},
): PolicyDescription {
  const walk = new PathWalk(disk);
  const real = (path: string) => walk.follow(path).path;
  const rules = ruleSets(policy).flatMap((set) => set.rules);
  const named = rules.flatMap((rule) => (rule.kind === "path" ? [{ ...rule, real: real(rule.path) }] : []));
  const places = hidingPlaces([...hiddenPaths, ...maskedPaths], walk);
  const isOfServer = (path: string): boolean =>
    places.some(({ directory, file }) => directory === path || namesOf(file, [path]).length > 0);
  const system = new Set(
    ruleSets(policy).some((set) => set.systemDirectories) ? SYSTEM_DIRECTORIES.map(real) : [],
  );
  const reasonOf = (mount: ViewMount): string => {
    const { kind, path } = mount;
    if (kind === "link") return `leads to ${mount.target}`;
    if (kind !== "readOnly" && kind !== "writable" && isOfServer(path)) return "belongs to the server";
    const rule =
      named.find((each) => each.real === path && each.access === ACCESS[kind]) ??
      named.find((each) => each.real === path);
    if (rule !== undefined) return rule.path === path ? "rule" : `rule for ${rule.path}`;
    if (system.has(path)) return "system directory";
    if (kind === "hiddenFile" || kind === "hiddenDirectory") return "matches a pattern";
    return isProtectedName(path) ? "protected name in a writable directory" : "belongs to a protected name";
  };
  return {
    network: policy.network,
    everythingElse: ({ empty: "hidden", readOnly: "read", writable: "write" } as const)[view.root],
    paths: view.mounts.map((mount) => ({
      path: mount.path,
      access: SHOWN[mount.kind],
      reason: reasonOf(mount),
    })),
    patterns: rules.flatMap((rule) => (rule.kind === "glob" ? [rule.pattern] : [])),
  };
}

const ACCESS: Partial<Record<ViewMount["kind"], FileAccess>> = {
  readOnly: "read",
  writable: "write",
  hiddenFile: "deny",
  hiddenDirectory: "deny",
};

const SHOWN: Record<ViewMount["kind"], PathDescription["access"]> = {
  readOnly: "read",
  writable: "write",
  hiddenFile: "hidden",
  hiddenDirectory: "hidden",
  absent: "reserved",
  absentFile: "reserved",
  link: "link",
};

const NETWORK: Record<NetworkMode, string> = {
  restricted: "none",
  proxied: "through the proxy only",
  enabled: "everything",
};

/** Lines of a table: path, access, reason. */
export function policyLines({ network, everythingElse, paths, patterns }: PolicyDescription): string[] {
  const rows = [
    ...paths.map(({ path, access, reason }) => [visibleText(path), access, visibleText(reason)] as const),
    ["everything else", everythingElse, everythingElse === "hidden" ? "no rule" : "rule for /"] as const,
  ];
  const width = Math.max(...rows.map(([path]) => path.length));
  return [
    ...rows.map(([path, access, reason]) => `${path.padEnd(width)}  ${access.padEnd(8)}  ${reason}`),
    ...patterns.map((pattern) => `hidden when it matches: ${visibleText(pattern)}`),
    `network: ${NETWORK[network]}`,
  ];
}
