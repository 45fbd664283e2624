/** Lines that differ: those of one text that stand in the place of those of the other. Either may be none. */
export interface DiffBlock {
  readonly mineFrom: number;
  readonly mineTo: number;
  readonly theirsFrom: number;
  readonly theirsTo: number;
}

/** Texts that differ in more lines are compared coarsely: finding the best match takes the square of this. */
const MAX_EDITS = 1500;

/** The blocks in which two texts differ, in order. As few lines as possible, unless there are too many. */
export function diffLines(mine: readonly string[], theirs: readonly string[]): readonly DiffBlock[] {
  let start = 0;
  while (start < mine.length && start < theirs.length && mine[start] === theirs[start]) start++;
  let [mineEnd, theirsEnd] = [mine.length, theirs.length];
  while (mineEnd > start && theirsEnd > start && mine[mineEnd - 1] === theirs[theirsEnd - 1]) {
    mineEnd--;
    theirsEnd--;
  }
  if (mineEnd === start && theirsEnd === start) return [];
  // Numbers are compared faster than lines.
  const ids = new Map<string, number>();
  const idOf = (line: string): number => {
    const id = ids.get(line) ?? ids.size;
    ids.set(line, id);
    return id;
  };
  const middle = matches(mine.slice(start, mineEnd).map(idOf), theirs.slice(start, theirsEnd).map(idOf));
  const blocks: DiffBlock[] = [];
  let [mineFrom, theirsFrom] = [start, start];
  for (const [one, other] of [...middle, [mineEnd - start, theirsEnd - start] as const]) {
    const [mineTo, theirsTo] = [start + one, start + other];
    if (mineFrom < mineTo || theirsFrom < theirsTo) blocks.push({ mineFrom, mineTo, theirsFrom, theirsTo });
    [mineFrom, theirsFrom] = [mineTo + 1, theirsTo + 1];
  }
  return blocks;
}

type Match = readonly [one: number, other: number];

/** The longest common subsequence, by the algorithm of Myers; empty if there are too many differences. */
function matches(one: readonly number[], other: readonly number[]): readonly Match[] {
  const most = Math.min(MAX_EDITS, one.length + other.length);
  const middle = most + 1;
  /** How far into `one` each diagonal has come. */
  const reached = new Int32Array(2 * middle + 1);
  const before: Int32Array[] = [];
  for (let edits = 0; edits <= most; edits++) {
    before.push(reached.slice(middle - edits - 1, middle + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let at = firstOn(reached, middle, diagonal, edits);
      while (at < one.length && at - diagonal < other.length && one[at] === other[at - diagonal]) at++;
      reached[middle + diagonal] = at;
      if (at >= one.length && at - diagonal >= other.length) return trace(before, one.length, other.length);
    }
  }
  return [];
}

/** Where a diagonal begins after one more edit, and the better of its neighbours. */
function firstOn(reached: Int32Array, middle: number, diagonal: number, edits: number): number {
  const above = reached[middle + diagonal + 1]!;
  const below = reached[middle + diagonal - 1]!;
  return diagonal === -edits || (diagonal !== edits && below < above) ? above : below + 1;
}

/** The way back from the end of both. */
function trace(before: readonly Int32Array[], oneEnd: number, otherEnd: number): readonly Match[] {
  const found: Match[] = [];
  let [one, other] = [oneEnd, otherEnd];
  for (let edits = before.length - 1; edits >= 0; edits--) {
    const diagonal = one - other;
    const start = edits === 0 ? 0 : firstOn(before[edits]!, edits + 1, diagonal, edits);
    while (one > start) {
      one--;
      other--;
      found.push([one, other]);
    }
    if (edits === 0) break;
    // The edit itself: a line of `other`, or one of `one`.
    const isOfOther =
      diagonal === -edits ||
      (diagonal !== edits && before[edits]![edits + diagonal]! < before[edits]![edits + 2 + diagonal]!);
    if (isOfOther) other--;
    else one--;
  }
  return found.reverse();
}

/** One line of each text, side by side; undefined where the other text has more. */
export interface DiffRow {
  readonly kind: "same" | "different";
  readonly mine: DiffLine | undefined;
  readonly theirs: DiffLine | undefined;
}

interface DiffLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** Lines that are the same and not shown. */
export interface DiffGap {
  readonly kind: "gap";
  readonly lines: number;
}

export interface DiffRows {
  readonly rows: readonly (DiffRow | DiffGap)[];
  /** There are more differences than fit. */
  readonly isCut: boolean;
}

/** Same lines that are shown around a difference. */
const CONTEXT = 3;

/** Two texts side by side: what differs, and some lines around it. */
export function diffRows(mine: readonly string[], theirs: readonly string[], maxRows: number): DiffRows {
  const rows: (DiffRow | DiffGap)[] = [];
  const lineAt = (lines: readonly string[], index: number, end: number): DiffLine | undefined =>
    index < end ? { number: index + 1, text: lines[index]! } : undefined;
  const addSame = (from: number, to: number, theirsFrom: number): void => {
    for (let index = from; index < to; index++)
      rows.push({
        kind: "same",
        mine: lineAt(mine, index, to),
        theirs: lineAt(theirs, theirsFrom + index - from, theirs.length),
      });
  };
  let [shownMine, shownTheirs] = [0, 0];
  for (const block of diffLines(mine, theirs)) {
    const { mineFrom, mineTo, theirsFrom, theirsTo } = block;
    const after = Math.min(CONTEXT, mineFrom - shownMine);
    const lead = shownMine === 0 ? 0 : after;
    addSame(shownMine, shownMine + lead, shownTheirs);
    const hidden = mineFrom - shownMine - lead - CONTEXT;
    const skipped = hidden > 1 ? hidden : 0;
    if (skipped > 0) rows.push({ kind: "gap", lines: skipped });
    addSame(shownMine + lead + skipped, mineFrom, shownTheirs + lead + skipped);
    const height = Math.max(mineTo - mineFrom, theirsTo - theirsFrom);
    for (let index = 0; index < height; index++)
      rows.push({
        kind: "different",
        mine: lineAt(mine, mineFrom + index, mineTo),
        theirs: lineAt(theirs, theirsFrom + index, theirsTo),
      });
    [shownMine, shownTheirs] = [mineTo, theirsTo];
    if (rows.length > maxRows) return { rows: rows.slice(0, maxRows), isCut: true };
  }
  if (rows.length === 0) return { rows, isCut: false };
  const end = Math.min(mine.length, shownMine + CONTEXT);
  addSame(shownMine, end, shownTheirs);
  if (end < mine.length) rows.push({ kind: "gap", lines: mine.length - end });
  return { rows, isCut: false };
}
