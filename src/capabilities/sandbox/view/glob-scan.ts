import { SandboxRefusal } from "../policy/sandbox-policy.ts";
import type { Disk } from "./disk.ts";
import type { GlobPattern } from "../policy/glob-pattern.ts";
import { childOf } from "./path-names.ts";
import type { PathWalk } from "./path-walk.ts";

export interface GlobScan {
  readonly walk: PathWalk;
  readonly disk: Disk;
  /** Shared by all scans of one view. */
  readonly budget: ScanBudget;
  readonly maxDepth: number;
  /** Whether a directory is worth searching: nothing in it may be visible anyway. */
  isVisible(directory: string): boolean;
  /** Whether there are rules below a directory that is hidden. */
  hasRulesBelow(directory: string): boolean;
}

const MAX_ENTRIES = 200_000;
const MAX_MS = 5000;
const ENTRIES_PER_LOOK = 1000;
/** Stands for bytes that are not UTF-8. */
const NO_TEXT = "\u{fffd}";

/** Bounds the search for matches. Beyond them the sandbox is refused, because matches could be missed. */
export class ScanBudget {
  readonly #deadline: number;
  #entries = 0;
  #sinceLook = 0;

  constructor(now: number = performance.now()) {
    this.#deadline = now + MAX_MS;
  }

  /** Looks at the clock now and then. */
  tick(pattern: string): void {
    this.#sinceLook += 1;
    if (this.#sinceLook >= ENTRIES_PER_LOOK) this.spend(0, pattern);
  }

  spend(entries: number, pattern: string): void {
    this.#entries += entries;
    this.#sinceLook = 0;
    if (this.#entries > MAX_ENTRIES)
      throw new SandboxRefusal(
        `unreadable glob \`${pattern}\` has more than ${MAX_ENTRIES} files to search; ` +
          "use a longer directory prefix or a smaller glob_scan_max_depth",
      );
    if (performance.now() > this.#deadline)
      throw new SandboxRefusal(
        `unreadable glob \`${pattern}\` takes longer than ${MAX_MS} ms to search; ` +
          "use a longer directory prefix or a smaller glob_scan_max_depth",
      );
  }
}

interface Step {
  readonly directory: string;
  readonly depth: number;
  /** Positions in the pattern's names that the next name can match. */
  readonly positions: readonly number[];
}

/**
 * Real paths that a pattern with a wildcard matches now. Links to directories are not followed, except before that; a
 * directory that cannot be read counts as a match, because its contents are unknown. Yields after each directory.
 */
export function* scanGlob(
  pattern: string,
  { base, names }: GlobPattern,
  scan: GlobScan,
): Generator<undefined, string[]> {
  const { walk, disk, budget, maxDepth } = scan;
  const start = walk.follow(base);
  if (start.kind === "closed") return [start.path];
  if (start.kind !== "directory") return [];
  const matches: string[] = [];
  const steps: Step[] = [{ directory: start.path, depth: 1, positions: reach(names, 0) }];
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    const { directory, depth, positions } = step;
    if (!scan.isVisible(directory)) continue;
    const children = disk.list(directory);
    if (children === undefined) {
      matches.push(directory);
      continue;
    }
    budget.spend(children.length + 1, pattern);
    const shared = sharedNames(children);
    for (const child of children) {
      const { name } = child;
      budget.tick(pattern);
      const next = nextPositions(names, positions, name);
      const isMatch = next.includes(names.length);
      const isDirectory = child.isDirectory();
      if (next.length === 0 || (!isMatch && !isDirectory)) continue;
      const path = childOf(directory, name);
      // Names that are not UTF-8 cannot be found by their text: it matches nothing, or something else.
      if (name.includes(NO_TEXT) && (walk.entryAt(path) === undefined || shared.has(name)))
        throw new SandboxRefusal(
          `unreadable glob \`${pattern}\` cannot hide a file in ${directory} whose name is not UTF-8; rename it`,
        );
      if (isMatch) {
        const { kind, path: real } = walk.follow(path);
        if (kind === "file" || kind === "directory" || kind === "closed") matches.push(real);
      }
      if (isDirectory && depth < maxDepth && (!isMatch || scan.hasRulesBelow(path)))
        steps.push({ directory: path, depth: depth + 1, positions: next });
    }
    yield;
  }
  return matches;
}

/** Texts that two names share, at least one of which is not UTF-8. */
function sharedNames(children: readonly { readonly name: string }[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const { name } of children) {
    if (!name.includes(NO_TEXT)) continue;
    if (seen.has(name)) shared.add(name);
    seen.add(name);
  }
  return shared;
}

/** A position, and all positions reachable from it without consuming a name. */
function reach(names: GlobPattern["names"], position: number): number[] {
  return names[position] === "anyDepth" ? [position, ...reach(names, position + 1)] : [position];
}

function nextPositions(names: GlobPattern["names"], positions: readonly number[], name: string): number[] {
  const next = new Set<number>();
  for (const position of positions) {
    const matcher = names[position];
    if (matcher === undefined) continue;
    const after = matcher === "anyDepth" ? position : position + 1;
    if (matcher === "anyDepth" || matcher(name)) for (const reached of reach(names, after)) next.add(reached);
  }
  return [...next];
}
