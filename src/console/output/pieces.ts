import type { Span, Style } from "./ansi.ts";
import type { Match } from "./search.ts";

/** Characters that look the same. */
export interface Piece {
  readonly text: string;
  readonly style: Style | undefined;
  readonly match: Match | undefined;
}

/** Cuts a line where its look changes, or a match begins or ends. */
export function cutPieces(text: string, spans: readonly Span[], matches: readonly Match[]): readonly Piece[] {
  const cuts = new Set([0, text.length]);
  for (const { start, end } of [...spans, ...matches]) cuts.add(start).add(end);
  const places = [...cuts].sort((one, other) => one - other);
  const spanAt = walker(spans);
  const matchAt = walker(matches);
  return places.slice(0, -1).map((start, index) => ({
    text: text.slice(start, places[index + 1]),
    style: spanAt(start)?.style,
    match: matchAt(start),
  }));
}

/** Finds what covers a place, for places in order. */
function walker<T extends { readonly start: number; readonly end: number }>(
  ranges: readonly T[],
): (place: number) => T | undefined {
  let next = 0;
  return (place) => {
    let range = ranges[next];
    while (range !== undefined && range.end <= place) range = ranges[++next];
    return range !== undefined && range.start <= place ? range : undefined;
  };
}
