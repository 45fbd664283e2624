import type { Found, Seen } from "./sides.ts";

/** Something of a directory of the source that is to be in the destination. */
export interface Wanted {
  readonly name: string;
  readonly found: Found;
}

/** What to do about one name of a directory. */
export type Step =
  | {
      readonly action: "directory" | "file" | "link";
      readonly name: string;
      readonly found: Found;
      /** What has the name now. */
      readonly there: Found | undefined;
      /** It is of another kind, so it has to go first. */
      readonly isInTheWay: boolean;
    }
  | { readonly action: "delete"; readonly name: string; readonly there: Found };

export interface PlanOptions {
  /** What is to be there. */
  readonly wanted: readonly Wanted[];
  /** What the directory of the destination has. */
  readonly seen: Seen;
  /** Names that are not deleted: those of the source, whether wanted or not, and those that are protected. */
  readonly kept: ReadonlySet<string>;
  readonly deletes: boolean;
  /** Names to consider; undefined for all. */
  readonly only?: ReadonlySet<string> | undefined;
}

/** Compares a directory of the source with that of the destination. Contents of files are compared later. */
export function planDirectory({ wanted, seen, kept, deletes, only }: PlanOptions): Step[] {
  const isMeant = (name: string): boolean => only === undefined || only.has(name);
  const steps: Step[] = [];
  for (const { name, found } of wanted) {
    const { kind } = found;
    if (kind === "other" || !isMeant(name)) continue;
    const there = seen.get(name);
    steps.push({ action: kind, name, found, there, isInTheWay: isInTheWay(kind, there) });
  }
  if (!deletes) return steps;
  const names = new Set(wanted.map(({ name }) => name));
  for (const [name, there] of seen)
    if (!names.has(name) && !kept.has(name) && isMeant(name)) steps.push({ action: "delete", name, there });
  return steps;
}

/** Files and links take the place of each other; special files may not be opened, so they go first. */
function isInTheWay(kind: Found["kind"], there: Found | undefined): boolean {
  if (there === undefined) return false;
  if (kind === "directory") return there.kind !== "directory";
  return there.kind === "directory" || there.kind === "other" || (kind === "file" && there.kind === "link");
}

/** Paths below a directory, as the names that lead to them. */
export interface Part {
  /** Absent for a path that is meant with everything in it. */
  readonly inner?: ReadonlyMap<string, Part>;
}

const WHOLE: Part = {};

/** What is meant by paths below a directory. */
export function partOf(paths: readonly string[]): Part {
  const root = new Map<string, MutablePart>();
  for (const path of paths) {
    if (path === "") return WHOLE;
    let names: Map<string, MutablePart> | undefined = root;
    const way = path.split("/");
    for (const [index, name] of way.entries()) {
      const known: MutablePart | undefined = names.get(name);
      if (known !== undefined && known.inner === undefined) break;
      const part: MutablePart = index === way.length - 1 ? {} : (known ?? { inner: new Map() });
      names.set(name, part);
      names = part.inner;
      if (names === undefined) break;
    }
  }
  return { inner: root };
}

interface MutablePart {
  inner?: Map<string, MutablePart>;
}
