import type { MirrorChange, TreeResult } from "../../../client/files/trees.ts";
import { counted, formatDuration, formatSize } from "../../../base/amounts.ts";
import { printable } from "../print/printable.ts";
import { someOf } from "../print/some-of.ts";

/** Result of one pass. */
export interface PassResult {
  readonly tree: TreeResult;
  readonly changes: Changes;
  readonly seconds: number;
  readonly failed: readonly { readonly path: string; readonly message: string }[];
}

/** Changes that are remembered by their names. */
const MAX_REMEMBERED = 100;

/** The changes of a pass: all of them if they are listed, otherwise some and their number. */
export class Changes {
  readonly #all: MirrorChange[] = [];
  readonly #limit: number;
  count = 0;
  modes = 0;

  constructor({ all }: { all: boolean }) {
    this.#limit = all ? Infinity : MAX_REMEMBERED;
  }

  add(change: MirrorChange): void {
    this.count += 1;
    if (change.action === "mode") this.modes += 1;
    if (this.#all.length < this.#limit) this.#all.push(change);
  }

  /** Sorted by path. */
  get listed(): readonly MirrorChange[] {
    return this.#all.toSorted((one, other) => (one.path < other.path ? -1 : 1));
  }
}

/** One line for each change, such as `delete src/old/`. */
export function changeLines(changes: Changes): string {
  return changes.listed
    .map(
      ({ action, path, kind }) =>
        `${action.padEnd(6)} ${printable(path)}${kind === "directory" ? "/" : ""}\n`,
    )
    .join("");
}

/** For people: `3 files copied, 1 deleted, 40 the same, 1.2 MiB in 2s`. */
export function summaryLine({ tree, changes, seconds }: PassResult): string {
  return `${[...amounts(tree, changes), `${tree.same ?? 0} the same`].join(", ")}, ${formatSize(tree.bytes)} in ${formatDuration(seconds * 1000)}`;
}

/** For people: `3 files copied, 1.2 KiB: a, b, c`. */
export function batchLine({ tree, changes }: PassResult): string {
  const names = someOf(
    changes.listed.map(({ path }) => printable(path)),
    changes.count,
  );
  const size = tree.bytes > 0 ? [formatSize(tree.bytes)] : [];
  return `${[...amounts(tree, changes), ...size].join(", ")}: ${names}`;
}

function amounts(tree: TreeResult, { modes }: Changes): string[] {
  const { files, links, deleted = 0 } = tree;
  return [
    `${counted(files, "file")} copied`,
    ...(links > 0 ? [counted(links, "link")] : []),
    ...(modes > 0 ? [`${counted(modes, "mode")} set`] : []),
    ...(deleted > 0 ? [`${deleted} deleted`] : []),
  ];
}

/** For programs. */
export function passAsJson({ tree, changes, seconds, failed }: PassResult): Record<string, unknown> {
  const { files, directories, links, bytes, same, deleted, skipped } = tree;
  return {
    files,
    directories,
    links,
    modes: changes.modes,
    same,
    deleted,
    bytes,
    seconds: Math.round(seconds * 1000) / 1000,
    skipped,
    failed,
  };
}
