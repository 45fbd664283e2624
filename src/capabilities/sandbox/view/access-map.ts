import { isBelow, parentOf } from "./path-names.ts";
import type { FileAccess } from "../policy/sandbox-policy.ts";

/** Access to real paths: the most specific rule counts. Without one, a path is not visible. */
export class AccessMap {
  readonly #rules = new Map<string, FileAccess>();

  paths(): Iterable<string> {
    return this.#rules.keys();
  }

  /** If several rules name the same path, `deny` wins, then `write`. */
  add(path: string, access: FileAccess): void {
    const known = this.#rules.get(path);
    if (known === undefined || PRECEDENCE[access] > PRECEDENCE[known]) this.#rules.set(path, access);
  }

  /** The rule for exactly this path. */
  own(path: string): FileAccess | undefined {
    return this.#rules.get(path);
  }

  /** The path of the rule that counts. */
  deciding(path: string): string | undefined {
    for (let at = path; ; at = parentOf(at)) {
      if (this.#rules.has(at)) return at;
      if (at === "/") return undefined;
    }
  }

  /** The access to a path. */
  at(path: string): FileAccess {
    const deciding = this.deciding(path);
    return deciding === undefined ? "deny" : this.#rules.get(deciding)!;
  }

  /** Hides a path and everything below it, whatever other rules say. */
  mask(path: string): void {
    for (const other of this.#rules.keys()) if (isBelow(other, path)) this.#rules.delete(other);
    this.#rules.set(path, "deny");
  }

  /**
   * Hides a directory, unless a rule names it. Rules for paths in it stay if `stays` says so: the most specific one
   * counts.
   */
  hide(directory: string, stays: (path: string) => boolean): void {
    const own = this.#rules.get(directory);
    if (own !== undefined && own !== "deny") return;
    for (const path of this.#rules.keys())
      if (isBelow(path, directory) && !stays(path)) this.#rules.delete(path);
    this.#rules.set(directory, "deny");
  }

  /** Takes away the permission to write a path. */
  protect(path: string): void {
    if (this.at(path) === "write") this.#rules.set(path, "read");
  }

  /** Whether anything at or below a path is visible. */
  shows(path: string): boolean {
    if (this.at(path) !== "deny") return true;
    for (const [other, access] of this.#rules) if (access !== "deny" && isBelow(other, path)) return true;
    return false;
  }
}

const PRECEDENCE: Record<FileAccess, number> = { read: 0, write: 1, deny: 2 };
const STRENGTH: Record<FileAccess, number> = { deny: 0, read: 1, write: 2 };

/** The weakest access of several sets of rules. */
export function weakest(maps: readonly AccessMap[]): AccessMap {
  const combined = new AccessMap();
  for (const path of new Set(["/", ...maps.flatMap((map) => [...map.paths()])])) {
    const accesses = maps.map((map) => map.at(path));
    combined.add(
      path,
      accesses.reduce((one, other) => (STRENGTH[other] < STRENGTH[one] ? other : one), "write"),
    );
  }
  return combined;
}
