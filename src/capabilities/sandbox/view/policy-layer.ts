import { AccessMap } from "./access-map.ts";
import type { Disk } from "./disk.ts";
import { type GlobPattern, parseGlob } from "../policy/glob-pattern.ts";
import { isBelow } from "./path-names.ts";
import type { Destination, PathWalk } from "./path-walk.ts";
import { protectedPaths } from "./protected-names.ts";
import {
  type FileAccess,
  type FileRules,
  ruleSets,
  type SandboxPolicy,
  SandboxRefusal,
} from "../policy/sandbox-policy.ts";

/** One set of rules, with real paths. */
export interface PolicyLayer {
  readonly access: AccessMap;
  /** First names of rules that do not exist, and must not be created. */
  readonly missing: readonly string[];
  readonly crossings: readonly Crossing[];
  readonly patterns: readonly {
    readonly text: string;
    readonly glob: GlobPattern;
    readonly maxDepth: number;
  }[];
}

/** A rule whose path leads through symbolic links. */
export interface Crossing {
  readonly path: string;
  readonly access: FileAccess;
  readonly destination: Destination;
}

/** Every sandbox creates these anew, so rules do not apply to them. */
const OWN_DIRECTORIES = ["/dev", "/proc"];
/** Also created anew, but paths below it that a rule names are ordinary, and mounted there. */
const SHARED_MEMORY = "/dev/shm";

/** Whether a path belongs to what every sandbox creates anew. */
export function isOwn(path: string): boolean {
  if (isBelow(path, SHARED_MEMORY)) return false;
  return OWN_DIRECTORIES.some((own) => path === own || isBelow(path, own));
}

/** Directories that programs need to run. Missing ones are left out. */
export const SYSTEM_DIRECTORIES = [
  "/bin",
  "/etc",
  "/lib",
  "/lib64",
  "/nix/store",
  "/run/current-system/sw",
  "/sbin",
  "/usr",
];

/** A sandbox cannot have more mounts than this many rules need. */
const MAX_RULES = 1000;
/** For a policy without rules. */
const EVERYTHING: FileRules = {
  rules: [{ kind: "path", path: "/", access: "write" }],
  systemDirectories: false,
};

/** One layer for each set of rules of a policy. */
export function layersOf(policy: SandboxPolicy, walk: PathWalk, disk: Disk): PolicyLayer[] {
  const sets = ruleSets(policy);
  if (sets.some(({ rules }) => rules.length > MAX_RULES))
    throw new SandboxRefusal(
      `a sandbox has at most ${MAX_RULES} rules; name directories instead of single files`,
    );
  return (sets.length === 0 ? [EVERYTHING] : sets).map((rules) => new LayerBuilder(walk, disk).build(rules));
}

class LayerBuilder {
  readonly #walk: PathWalk;
  readonly #disk: Disk;
  readonly #access = new AccessMap();
  readonly #missing: string[] = [];
  readonly #crossings: Crossing[] = [];
  /** Paths that must not change even if they would be writable. */
  readonly #pinned: string[] = [];

  constructor(walk: PathWalk, disk: Disk) {
    this.#walk = walk;
    this.#disk = disk;
  }

  build({ rules, systemDirectories, globScanMaxDepth = Number.POSITIVE_INFINITY }: FileRules): PolicyLayer {
    const patterns: PolicyLayer["patterns"][number][] = [];
    const roots = new Set<string>();
    /** Paths with their own rule, which their name does not protect. */
    const named = new Set<string>();
    for (const rule of rules) {
      if (rule.kind === "glob") {
        const glob = parseGlob(rule.pattern);
        if (glob.names.length === 0) this.#apply(glob.base, "deny");
        else patterns.push({ text: rule.pattern, glob, maxDepth: globScanMaxDepth });
        continue;
      }
      const { kind, path, isWhole, links } = this.#apply(rule.path, rule.access);
      if (rule.followed !== undefined && links[0] !== undefined)
        throw new SandboxRefusal(
          `${links[0].path} has become a symbolic link since the policy named ${rule.path}`,
        );
      if (isWhole) named.add(path);
      if (rule.access === "write" && kind === "directory" && path !== "/") roots.add(path);
    }
    for (const root of roots) this.#protect(root, named);
    for (const path of this.#pinned) if (this.#access.at(path) === "write") this.#access.add(path, "read");
    if (systemDirectories) this.#showSystemDirectories();
    return { access: this.#access, missing: this.#missing, crossings: this.#crossings, patterns };
  }

  #apply(path: string, access: FileAccess): Destination {
    const destination = this.#walk.follow(path);
    const { kind, path: real } = destination;
    if (isOwn(real)) return destination;
    const exists = kind === "file" || kind === "directory";
    if (destination.links.length > 0 && (exists || access !== "write"))
      this.#crossings.push({ path, access, destination });
    if (exists) this.#access.add(real, access);
    else if (kind === "missing" && access !== "write") this.#missing.push(real);
    // A file where a directory should be: while it is mounted, nothing can take its place.
    else if (kind === "blocked" && access !== "write") this.#pinned.push(real);
    // While it is hidden, it cannot be opened by changing its mode.
    else if (kind === "closed" && access === "deny") this.#access.add(real, "deny");
    return destination;
  }

  /** Only takes access away: the author of `.git` chooses what it points to. */
  #protect(root: string, named: ReadonlySet<string>): void {
    if (this.#access.own(root) !== "write") return;
    for (const path of protectedPaths(root, this.#walk, this.#disk)) {
      const destination = this.#walk.follow(path);
      const { kind, path: real, links } = destination;
      if (named.has(real)) continue;
      if (links.length > 0) this.#crossings.push({ path, access: "read", destination });
      if (kind === "file" || kind === "directory") this.#pinned.push(real);
      else if (kind === "missing") this.#missing.push(real);
    }
  }

  /** Adds directories to those that rules show, without changing what the rules decide. */
  #showSystemDirectories(): void {
    const rootAccess = this.#access.at("/");
    const shown = SYSTEM_DIRECTORIES.map((path) => ({ path, destination: this.#walk.follow(path) })).filter(
      ({ destination: { kind, path } }) => {
        const deciding = this.#access.deciding(path);
        return (
          kind === "directory" && (deciding === undefined || (deciding === "/" && rootAccess === "deny"))
        );
      },
    );
    for (const { path, destination } of shown) {
      if (destination.links.length > 0) this.#crossings.push({ path, access: "read", destination });
      this.#access.add(destination.path, "read");
    }
  }
}
