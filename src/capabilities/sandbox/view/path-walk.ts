import { SandboxRefusal } from "../policy/sandbox-policy.ts";
import type { Disk, DiskEntry } from "./disk.ts";
import { childOf, parentOf } from "./path-names.ts";

/** Target of a path, with all links followed. */
export interface Destination {
  /**
   * `missing`: `path` is the first name on the way that does not exist. `blocked`: `path` is a file where a directory
   * should be. `closed`: `path` is a directory that cannot be searched. `impossible`: too long to ever exist.
   */
  readonly kind: "file" | "directory" | "missing" | "blocked" | "closed" | "impossible";
  readonly path: string;
  /** Whether the whole path was followed: no names are left. */
  readonly isWhole: boolean;
  /** The real path that the whole path stands for, whether it exists or not. */
  readonly whole: string;
  /** The links on the way, at their own real paths. */
  readonly links: readonly CrossedLink[];
}

export interface CrossedLink {
  readonly path: string;
  readonly target: string;
  /** Whether it is the last name of the path, not a directory on the way. */
  readonly isLast: boolean;
}

/** The kernel follows as many. */
const MAX_LINKS = 40;

/** Follows paths, and looks at each name only once. */
export class PathWalk {
  readonly #disk: Disk;
  readonly #entries = new Map<string, DiskEntry | undefined>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  entryAt(path: string): DiskEntry | undefined {
    const known = this.#entries.get(path);
    if (known !== undefined || this.#entries.has(path)) return known;
    const entry = this.#disk.entryAt(path);
    this.#entries.set(path, entry);
    return entry;
  }

  follow(path: string): Destination {
    const links: CrossedLink[] = [];
    const names = namesOf(path);
    const ends = (kind: Destination["kind"], at: string, unseen: string[] = []): Destination => {
      const whole = [...unseen, ...names].reduce(childOf, at);
      return { kind, path: at, isWhole: names.length === 0, whole, links };
    };
    let current = "/";
    while (names.length > 0) {
      const name = names.shift()!;
      if (name === "..") {
        current = parentOf(current);
        continue;
      }
      const next = childOf(current, name);
      const entry = this.entryAt(next);
      if (entry === undefined) return ends("missing", next);
      if (entry.kind === "closed") return ends("closed", current, [name]);
      if (entry.kind === "impossible") return ends("impossible", next);
      if (entry.kind === "link") {
        if (links.length >= MAX_LINKS)
          throw new SandboxRefusal(`cannot enforce sandbox path ${path}: too many symbolic links`);
        const target = this.#disk.target(next);
        if (target === undefined)
          throw new SandboxRefusal(`cannot enforce sandbox path ${path}: the link ${next} cannot be read`);
        links.push({ path: next, target, isLast: names.length === 0 });
        names.unshift(...namesOf(target));
        if (target.startsWith("/")) current = "/";
        continue;
      }
      current = next;
      if (entry.kind === "file" && names.length > 0) return ends("blocked", next);
    }
    return ends(this.entryAt(current)?.kind === "directory" ? "directory" : "file", current);
  }
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}
