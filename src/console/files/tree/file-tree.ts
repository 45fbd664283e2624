import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Files } from "../../../client/browser.ts";
import { describeError } from "../../connection/describe-error.ts";
import { isExact, joinPath, parentOf, stepsTo } from "../../frame/paths.ts";
import { Directory } from "../directory.ts";
import { chooseEntries, type Entry } from "../entries.ts";

/** Entries of a directory that the tree shows; the list shows them all. */
const MAX_ENTRIES = 1000;
/** Each open directory is watched, and a connection has a limited number of watches. */
const MAX_OPEN = 40;
const ORDER = { column: "name", isDescending: false } as const;

/** A line of the tree. */
export interface TreeRow {
  /** Unique in the tree. */
  readonly key: string;
  /** What it opens: itself, or for `more` its directory; undefined if it cannot be opened. */
  readonly path: string | undefined;
  readonly name: string;
  /** `more`: names that are not shown. `note`: why a directory has no entries. */
  readonly kind: Entry["kind"] | "more" | "note";
  /** From 1. */
  readonly level: number;
  readonly position: number;
  readonly siblings: number;
  /** Of directories only. */
  readonly isOpen: boolean | undefined;
}

/** A directory and those below it that are open, each listed when it is opened. */
export class FileTree {
  readonly root: string;
  readonly #files: Files;
  /** The latest last. */
  readonly #open = signal<ReadonlyMap<string, Directory>>(new Map());

  readonly #showsHidden: ReadonlySignal<boolean>;

  constructor(
    files: Files,
    root: string,
    {
      open = [],
      showsHidden,
    }: { readonly open?: readonly string[]; readonly showsHidden: ReadonlySignal<boolean> },
  ) {
    this.#files = files;
    this.root = root;
    this.#showsHidden = showsHidden;
    for (const path of [root, ...open]) this.open(path);
  }

  /** The open directories below the root. */
  get openPaths(): readonly string[] {
    return [...this.#open.value.keys()].filter((path) => path !== this.root);
  }

  readonly rows = computed((): readonly TreeRow[] => {
    const rows: TreeRow[] = [];
    this.#addRows(rows, this.root, 1);
    return rows;
  });

  open(path: string): void {
    if (this.#open.value.has(path)) return;
    const directory = new Directory(this.#files, path);
    const open = new Map(this.#open.value).set(path, directory);
    for (const [old, oldest] of open) {
      if (open.size <= MAX_OPEN) break;
      if (old === this.root || path.startsWith(joinPath(old, ""))) continue;
      oldest.close();
      open.delete(old);
    }
    this.#open.value = open;
    void directory.open();
  }

  /** What is open below it opens with it again. */
  close(path: string): void {
    const open = new Map(this.#open.value);
    open.get(path)?.close();
    open.delete(path);
    this.#open.value = open;
  }

  toggle(path: string): void {
    if (this.#open.value.has(path)) this.close(path);
    else this.open(path);
  }

  /** Opens every directory on the way to a path. */
  reveal(path: string): void {
    const parent = parentOf(path);
    for (const step of stepsTo(parent))
      if (step.path === this.root || step.path.startsWith(joinPath(this.root, ""))) this.open(step.path);
  }

  /** Stops following everything. */
  end(): void {
    for (const directory of this.#open.value.values()) directory.close();
  }

  #addRows(rows: TreeRow[], path: string, level: number): void {
    const directory = this.#open.value.get(path);
    if (directory === undefined) return;
    const error = directory.error.value;
    if (error !== undefined) {
      rows.push(noteRow(path, level, describeError(error).text));
      return;
    }
    const entries = directory.entries.value;
    if (entries === undefined) return;
    const all = chooseEntries(entries, { order: ORDER, showsHidden: this.#showsHidden.value, filter: "" });
    const shown = all.slice(0, MAX_ENTRIES);
    const siblings = shown.length + (all.length > shown.length ? 1 : 0);
    for (const [index, { name, kind }] of shown.entries()) {
      const child = joinPath(path, name);
      const isOpen = kind === "directory" ? this.#open.value.has(child) : undefined;
      const target = isExact(name) ? child : undefined;
      rows.push({ key: child, path: target, name, kind, level, position: index + 1, siblings, isOpen });
      if (isOpen) this.#addRows(rows, child, level + 1);
    }
    if (all.length === 0) rows.push(noteRow(path, level, "empty"));
    if (all.length > shown.length)
      rows.push({
        ...noteRow(path, level, `${all.length - shown.length} more`),
        path,
        kind: "more",
        position: siblings,
        siblings,
      });
  }
}

function noteRow(path: string, level: number, name: string): TreeRow {
  const key = joinPath(path, "\0");
  return { key, path: undefined, name, kind: "note", level, position: 1, siblings: 1, isOpen: undefined };
}

/** What a key does in a tree, as in all trees (ARIA). */
export type TreeStep =
  | { readonly kind: "go"; readonly to: number }
  | { readonly kind: "toggle" }
  | { readonly kind: "open" };

/** The step of a key press at a row; undefined if the tree does not use the key. */
export function treeStep(
  key: string,
  rows: readonly TreeRow[],
  at: number,
  pageRows: number,
): TreeStep | undefined {
  const row = rows[at];
  if (row === undefined) return undefined;
  const last = rows.length - 1;
  const go = (to: number): TreeStep => ({ kind: "go", to: Math.max(0, Math.min(last, to)) });
  switch (key) {
    case "ArrowDown":
      return go(at + 1);
    case "ArrowUp":
      return go(at - 1);
    case "PageDown":
      return go(at + pageRows);
    case "PageUp":
      return go(at - pageRows);
    case "Home":
      return go(0);
    case "End":
      return go(last);
    case "ArrowRight":
      if (row.isOpen === false) return { kind: "toggle" };
      return go(row.isOpen && (rows[at + 1]?.level ?? 0) > row.level ? at + 1 : at);
    case "ArrowLeft":
      return row.isOpen ? { kind: "toggle" } : go(parentIndex(rows, at));
    case "Enter":
    case " ":
      return { kind: row.isOpen === undefined ? "open" : "toggle" };
    default:
      return key.length === 1 ? typedStep(key, rows, at) : undefined;
  }
}

/** The row above with a lower level; the row itself on the first level. */
function parentIndex(rows: readonly TreeRow[], at: number): number {
  for (let index = at - 1; index >= 0; index--) if (rows[index]!.level < rows[at]!.level) return index;
  return at;
}

/** The next row whose name begins with a character. */
function typedStep(character: string, rows: readonly TreeRow[], at: number): TreeStep | undefined {
  const wanted = character.toLowerCase();
  for (let step = 1; step <= rows.length; step++) {
    const to = (at + step) % rows.length;
    if (rows[to]!.name.toLowerCase().startsWith(wanted)) return { kind: "go", to };
  }
  return undefined;
}
