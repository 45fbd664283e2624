const CONTEXT_LINES = 3;

/** A part of a text that is replaced. */
export interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** Whole lines that change: from `first` up to `end`, which is not part of them. */
interface Block {
  readonly first: number;
  readonly end: number;
  readonly added: readonly string[];
}

/** The text with its replacements, which are in order and do not overlap. */
export function replaced(text: string, replacements: readonly Replacement[]): string {
  const pieces: string[] = [];
  let at = 0;
  for (const { from, to, text: put } of replacements) {
    pieces.push(text.slice(at, from), put);
    at = to;
  }
  return pieces.join("") + text.slice(at);
}

/** What replacements do to a text, as a unified diff. The replacements are in order and do not overlap. */
export function unifiedDiff(path: string, text: string, replacements: readonly Replacement[]): string {
  const lines = linesOf(text);
  const blocks = blocksOf(text, lines, replacements);
  const hunks: Block[][] = [];
  for (const block of blocks) {
    const last = hunks.at(-1)?.at(-1);
    if (last !== undefined && block.first - last.end <= 2 * CONTEXT_LINES) hunks.at(-1)!.push(block);
    else hunks.push([block]);
  }
  let shift = 0;
  const shown = hunks.map((hunk) => {
    const { text: shownHunk, grown } = showHunk(lines, hunk, shift);
    shift += grown;
    return shownHunk;
  });
  return [`--- a${path}\n+++ b${path}\n`, ...shown].join("");
}

/** Lines with their ends. */
function linesOf(text: string): string[] {
  const lines: string[] = [];
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 ? text.length : newline + 1;
    lines.push(text.slice(at, end));
    at = end;
  }
  return lines;
}

function blocksOf(text: string, lines: readonly string[], replacements: readonly Replacement[]): Block[] {
  const starts: number[] = [0];
  for (const line of lines) starts.push(starts.at(-1)! + line.length);
  const blocks: Block[] = [];
  let line = 0;
  for (let index = 0; index < replacements.length; ) {
    while (line < lines.length - 1 && starts[line + 1]! <= replacements[index]!.from) line += 1;
    const first = line;
    let end = Math.min(first + 1, lines.length);
    const inside: Replacement[] = [];
    // A replacement may begin on the last line of the one before, and one that swallows a line end joins the next line.
    for (;;) {
      const next = replacements[index];
      if (next !== undefined && next.from < starts[end]!) {
        inside.push(next);
        index += 1;
        while (end < lines.length && starts[end]! < next.to) end += 1;
      } else if (end < lines.length && joinsNextLine(inside.at(-1), text, starts[end]!)) end += 1;
      else break;
    }
    if (inside.length === 0) {
      // Only at the end of a text: nothing is replaced there.
      index += 1;
      continue;
    }
    const base = starts[first]!;
    const moved = inside.map(({ from, to, text: put }) => ({ from: from - base, to: to - base, text: put }));
    blocks.push(trimmed(lines, first, end, linesOf(replaced(text.slice(base, starts[end]), moved))));
    line = end - 1;
  }
  return blocks;
}

/** True if what has replaced the end of the last line does not end one itself. */
function joinsNextLine(last: Replacement | undefined, text: string, end: number): boolean {
  if (last === undefined || last.to !== end) return false;
  const before = last.text === "" ? text[last.from - 1] : last.text.at(-1);
  return before !== undefined && before !== "\n";
}

/** Without the lines that stay the same. */
function trimmed(lines: readonly string[], from: number, to: number, added: readonly string[]): Block {
  let first = from;
  let end = to;
  let start = 0;
  let stop = added.length;
  while (first < end && start < stop && lines[first] === added[start])
    [first, start] = [first + 1, start + 1];
  while (end > first && stop > start && lines[end - 1] === added[stop - 1]) [end, stop] = [end - 1, stop - 1];
  return { first, end, added: added.slice(start, stop) };
}

function showHunk(lines: readonly string[], hunk: readonly Block[], shift: number) {
  const from = Math.max(0, hunk[0]!.first - CONTEXT_LINES);
  const to = Math.min(lines.length, hunk.at(-1)!.end + CONTEXT_LINES);
  const shown: string[] = [];
  let at = from;
  let grown = 0;
  for (const { first, end, added } of hunk) {
    shown.push(
      ...marked(" ", lines.slice(at, first)),
      ...marked("-", lines.slice(first, end)),
      ...marked("+", added),
    );
    grown += added.length - (end - first);
    at = end;
  }
  shown.push(...marked(" ", lines.slice(at, to)));
  const length = to - from;
  const header = `@@ -${range(from, length)} +${range(from + shift, length + grown)} @@\n`;
  return { text: header + shown.join(""), grown };
}

const range = (from: number, length: number): string => `${length === 0 ? from : from + 1},${length}`;

const marked = (mark: string, lines: readonly string[]): string[] =>
  lines.map((line) =>
    line.endsWith("\n") ? `${mark}${line}` : `${mark}${line}\n\\ No newline at end of file\n`,
  );
