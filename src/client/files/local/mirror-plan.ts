import type { EntryInfo, Seen } from "./sides.ts";

/** Something of a directory of the source that is to be in the destination. */
export interface Wanted {
  readonly name: string;
  readonly info: EntryInfo;
}

/** Action for one name of a directory. */
export type Step =
  | {
      readonly action: "directory" | "file" | "link";
      readonly name: string;
      readonly info: EntryInfo;
      /** The existing entry of that name. */
      readonly existing: EntryInfo | undefined;
      /** Whether it is of a different kind, and has to be removed first. */
      readonly mustReplace: boolean;
    }
  | { readonly action: "delete"; readonly name: string; readonly existing: EntryInfo };

export interface PlanOptions {
  /** Entries that the destination should have. */
  readonly wanted: readonly Wanted[];
  /** Entries that the destination's directory has. */
  readonly seen: Seen;
  /** Names that are not deleted: those of the source, selected or not, and protected ones. */
  readonly kept: ReadonlySet<string>;
  readonly deletes: boolean;
  /** Names to consider; undefined for all. */
  readonly only?: ReadonlySet<string> | undefined;
}

/** Compares a directory of the source with the destination's. Contents of files are compared later. */
export function planDirectory({ wanted, seen, kept, deletes, only }: PlanOptions): Step[] {
  const isSelected = (name: string): boolean => only === undefined || only.has(name);
  const steps: Step[] = [];
  for (const { name, info } of wanted) {
    const { kind } = info;
    if (kind === "other" || !isSelected(name)) continue;
    const existing = seen.get(name);
    steps.push({ action: kind, name, info, existing, mustReplace: mustReplace(kind, existing) });
  }
  if (!deletes) return steps;
  const names = new Set(wanted.map(({ name }) => name));
  for (const [name, existing] of seen)
    if (!names.has(name) && !kept.has(name) && isSelected(name))
      steps.push({ action: "delete", name, existing });
  return steps;
}

/** Files and links take the place of each other; special files may not be opened, so they go first. */
function mustReplace(kind: EntryInfo["kind"], existing: EntryInfo | undefined): boolean {
  if (existing === undefined) return false;
  if (kind === "directory") return existing.kind !== "directory";
  return (
    existing.kind === "directory" ||
    existing.kind === "other" ||
    (kind === "file" && existing.kind === "link")
  );
}

/** Paths below a directory, as the names that lead to them. */
export interface Part {
  /** Absent for a path that is meant with everything in it. */
  readonly inner?: ReadonlyMap<string, Part>;
}

const WHOLE: Part = {};

/** Selects by paths below a directory. */
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
