import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { posix } from "node:path";
import fc from "fast-check";
import { type BytePath, fromText, joinPath, onDisk, parentOf } from "./byte-path.ts";
import { makeFifo, makeSocket } from "./file-nodes.ts";

export type Entry =
  | { kind: "file"; contents: string; mode: number; modified: number }
  | { kind: "directory"; mode: number; entries: readonly NamedEntry[] }
  | { kind: "link"; absolute: boolean; target: LinkTarget; index: number }
  | { kind: "fifo" }
  | { kind: "socket" };

/**
 * What a link names: an entry of the tree (which may be a link, or a directory around it), something below a missing
 * one, or itself.
 */
type LinkTarget = "entry" | "nothing" | "itself";

export interface NamedEntry {
  name: BytePath;
  entry: Entry;
}

const AWKWARD_NAMES = [
  ".hidden",
  "...",
  "sp ace",
  " leading",
  "trailing ",
  "new\nline",
  "100%",
  "%41",
  "%2F",
  "%2e%2e",
  "\u00fc",
  "u\u0308",
  "\u65e5\u672c\u8a9e",
  "\u{1f469}\u200d\u{1f467}",
  "\u202etxt",
  "\ufeffbom",
  "\ufffd",
  "a#b?c",
  "C:",
  "a\\b",
  "[x]^|`{}<>",
  "'\"$&;*~",
  "-rf",
  "\t\u0001\u007f",
  "x".repeat(255),
];

const isName = (name: BytePath): boolean =>
  name !== "" && name !== "." && name !== ".." && !/[/\0]/.test(name);

// Few plain names, so that two directories often have the same and copies meet what is already there.
const plainNames = fc.constantFrom("a", "b", "c", "d").map(fromText);
const textNames = fc.oneof(
  { weight: 4, arbitrary: plainNames },
  { weight: 3, arbitrary: fc.constantFrom(...AWKWARD_NAMES).map(fromText) },
  {
    weight: 2,
    arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 6 }).map(fromText).filter(isName),
  },
);
const rawNames = fc.oneof(
  { weight: 2, arbitrary: plainNames },
  {
    weight: 3,
    arbitrary: fc
      .uint8Array({ minLength: 1, maxLength: 4 })
      .map((bytes) => String.fromCharCode(...bytes))
      .filter(isName),
  },
);

/** The entries of a directory. With `raw`, also names that are not UTF-8. */
export function randomTree({ raw }: { raw: boolean }): fc.Arbitrary<readonly NamedEntry[]> {
  const names = raw ? rawNames : textNames;
  const file = fc.record({
    kind: fc.constant("file" as const),
    contents: fc.string({ maxLength: 12 }),
    mode: fc.constantFrom(0o644, 0o600, 0o755, 0o444, 0o4755, 0o2711),
    modified: fc.constantFrom(0, 1.9996, 1_700_000_000.123, 4_200_000_000.5),
  });
  const link = fc.record({
    kind: fc.constant("link" as const),
    absolute: fc.boolean(),
    target: fc.oneof(
      { weight: 6, arbitrary: fc.constant("entry" as const) },
      { weight: 1, arbitrary: fc.constant("nothing" as const) },
      { weight: 1, arbitrary: fc.constant("itself" as const) },
    ),
    index: fc.nat(1000),
  });
  const special = fc.constantFrom({ kind: "fifo" as const }, { kind: "socket" as const });
  const entriesOf = (entry: fc.Arbitrary<Entry>): fc.Arbitrary<NamedEntry[]> =>
    fc.uniqueArray(fc.record({ name: names, entry }), { maxLength: 5, selector: ({ name }) => name });
  const directoryOf = (entry: fc.Arbitrary<Entry>): fc.Arbitrary<Entry> =>
    fc.record({
      kind: fc.constant("directory" as const),
      mode: fc.constantFrom(0o755, 0o700, 0o1777, 0o2755),
      entries: entriesOf(entry),
    });
  let entry: fc.Arbitrary<Entry> = fc.oneof(file, link, special);
  for (let depth = 0; depth < MAX_TREE_DEPTH; depth += 1) {
    entry = fc.oneof(
      { weight: 4, arbitrary: directoryOf(entry) },
      { weight: 4, arbitrary: file },
      { weight: 4, arbitrary: link },
      { weight: 1, arbitrary: special },
    );
  }
  return entriesOf(entry);
}

export const MAX_TREE_DEPTH = 3;

/** Makes the tree in a directory that is there already. Links lead to other parts of it. */
export function buildTree(root: BytePath, entries: readonly NamedEntry[]): void {
  const paths: BytePath[] = [root];
  const links: { path: BytePath; entry: Extract<Entry, { kind: "link" }> }[] = [];
  const build = (directory: BytePath, children: readonly NamedEntry[]): void => {
    for (const { name, entry } of children) {
      const path = joinPath(directory, name);
      paths.push(path);
      if (entry.kind === "link") links.push({ path, entry });
      else if (entry.kind === "fifo") makeFifo(path);
      else if (entry.kind === "socket") makeSocket(path);
      else if (entry.kind === "file") {
        writeFileSync(onDisk(path), entry.contents);
        chmodSync(onDisk(path), entry.mode);
        utimesSync(onDisk(path), entry.modified, entry.modified);
      } else {
        mkdirSync(onDisk(path));
        build(path, entry.entries);
        chmodSync(onDisk(path), entry.mode);
      }
    }
  };
  build(root, entries);
  for (const { path, entry } of links) symlinkSync(onDisk(linkText(path, entry, paths)), onDisk(path));
}

function linkText(
  path: BytePath,
  { absolute, target, index }: Extract<Entry, { kind: "link" }>,
  paths: readonly BytePath[],
): string {
  const named = target === "itself" ? path : (paths[index % paths.length] ?? path);
  const full = target === "nothing" ? joinPath(named, "nothing") : named;
  return absolute ? full : posix.relative(parentOf(path), full) || ".";
}
