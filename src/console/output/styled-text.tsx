import { type Colour, type Span, type Style, TRUE_COLOUR } from "./ansi.ts";
import type { Match } from "./search.ts";

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const CUBE = [0, 95, 135, 175, 215, 255];

export interface StyledTextProps {
  readonly text: string;
  readonly spans: readonly Span[] | undefined;
  readonly matches: readonly Match[];
  readonly current: Match | undefined;
}

/** A line with its colours and search matches. */
export function StyledText({ text, spans, matches, current }: StyledTextProps) {
  if (spans === undefined && matches.length === 0) return <>{text}</>;
  return (
    <>
      {cutPieces(text, spans ?? [], matches).map(({ text: piece, style, match }) => {
        const styled =
          style === undefined ? (
            piece
          ) : (
            <span class={classOf(style)} style={coloursOf(style)}>
              {piece}
            </span>
          );
        if (match === undefined) return styled;
        const isCurrent = match.index === current?.index && match.start === current.start;
        return <mark class={isCurrent ? "out-match current" : "out-match"}>{styled}</mark>;
      })}
    </>
  );
}

function classOf({ bold, faint, italic, underlined, struck }: Style): string | undefined {
  const names = [
    bold && "out-bold",
    faint && "out-faint",
    italic && "out-italic",
    underlined && struck ? "out-under-struck" : underlined ? "out-underlined" : struck && "out-struck",
  ].filter(Boolean);
  return names.length === 0 ? undefined : names.join(" ");
}

function coloursOf({
  foreground,
  background,
  inverse,
}: Style): Record<string, string | undefined> | undefined {
  const text = foreground === undefined ? undefined : cssColour(foreground);
  const page = background === undefined ? undefined : cssColour(background);
  if (inverse) return { color: page ?? "var(--term-page)", background: text ?? "var(--term-text)" };
  if (text === undefined && page === undefined) return undefined;
  return { color: text, background: page };
}

function cssColour(colour: Colour): string {
  if (colour < 8) return `var(--term-${NAMES[colour]})`;
  if (colour < 16) return `var(--term-bright-${NAMES[colour - 8]})`;
  if (colour >= TRUE_COLOUR) {
    const rgb = colour - TRUE_COLOUR;
    return `rgb(${rgb >> 16} ${(rgb >> 8) & 255} ${rgb & 255})`;
  }
  if (colour >= 232)
    return `rgb(${Array(3)
      .fill(8 + (colour - 232) * 10)
      .join(" ")})`;
  const cubeIndex = colour - 16;
  return `rgb(${CUBE[Math.floor(cubeIndex / 36)]} ${CUBE[Math.floor(cubeIndex / 6) % 6]} ${CUBE[cubeIndex % 6]})`;
}

/** Characters that look the same. */
interface Piece {
  readonly text: string;
  readonly style: Style | undefined;
  readonly match: Match | undefined;
}

/** Cuts a line where its look changes, or a match begins or ends. */
export function cutPieces(text: string, spans: readonly Span[], matches: readonly Match[]): readonly Piece[] {
  const cuts = new Set([0, text.length]);
  for (const { start, end } of [...spans, ...matches]) cuts.add(start).add(end);
  const offsets = [...cuts].sort((one, other) => one - other);
  const spanAt = walker(spans);
  const matchAt = walker(matches);
  return offsets.slice(0, -1).map((start, index) => ({
    text: text.slice(start, offsets[index + 1]),
    style: spanAt(start)?.style,
    match: matchAt(start),
  }));
}

/** Finds what covers a place, for places in order. */
function walker<T extends { readonly start: number; readonly end: number }>(
  ranges: readonly T[],
): (offset: number) => T | undefined {
  let next = 0;
  return (offset) => {
    let range = ranges[next];
    while (range !== undefined && range.end <= offset) range = ranges[++next];
    return range !== undefined && range.start <= offset ? range : undefined;
  };
}
