import { useMemo } from "preact/hooks";
import { visibleText } from "../../../base/visible-text.ts";
import { contentOf, type LineEnding } from "../file-content.ts";
import type { Encoding } from "../encodings.ts";
import { type DiffGap, type DiffRow, diffRows } from "./line-diff.ts";
import { differenceOf } from "./save-rules.ts";

/** Larger texts are not compared. */
const MAX_BYTES = 2_000_000;
const MAX_LINES = 40_000;
const MAX_ROWS = 1000;
const MAX_LINE_LENGTH = 400;

/** How lines end, for people. */
export const ENDINGS: Readonly<Record<LineEnding, string>> = {
  lf: "LF",
  crlf: "CRLF",
  mixed: "mixed line endings",
};

export interface ConflictDiffProps {
  readonly mine: Uint8Array;
  readonly disk: Uint8Array;
  readonly encoding: Encoding;
}

/** The lines in which the edited text and the one on the disk differ. */
export function ConflictDiff({ mine, disk, encoding }: ConflictDiffProps) {
  const compared = useMemo(() => compare(mine, disk, encoding), [mine, disk]);
  if (typeof compared === "string") return <p class="dialog-text">{compared}</p>;
  return (
    <div class="files-diff code" role="region" aria-label="Differences" tabIndex={0}>
      <table>
        <colgroup>
          <col class="files-diff-number" />
          <col />
          <col class="files-diff-number" />
          <col />
        </colgroup>
        <thead>
          <tr>
            <th colSpan={2} scope="col">
              Yours
            </th>
            <th colSpan={2} scope="col">
              On the disk
            </th>
          </tr>
        </thead>
        <tbody>
          {compared.rows.map((row, index) => (
            <Row key={index} row={row} />
          ))}
        </tbody>
      </table>
      {compared.isCut ? <p class="files-diff-gap">Only the first {MAX_ROWS} lines are shown.</p> : null}
    </div>
  );
}

function Row({ row }: { readonly row: DiffRow | DiffGap }) {
  if (row.kind === "gap")
    return (
      <tr class="files-diff-gap">
        <td colSpan={4}>{row.lines === 1 ? "1 line is the same" : `${row.lines} lines are the same`}</td>
      </tr>
    );
  const { kind, mine, theirs } = row;
  return (
    <tr class={kind}>
      <td class="files-diff-number">{mine?.number}</td>
      <Side kind="mine" isSame={kind === "same"} text={mine?.text} other={theirs?.text} />
      <td class="files-diff-number">{theirs?.number}</td>
      <Side kind="theirs" isSame={kind === "same"} text={theirs?.text} other={mine?.text} />
    </tr>
  );
}

interface SideProps {
  readonly kind: "mine" | "theirs";
  readonly isSame: boolean;
  readonly text: string | undefined;
  readonly other: string | undefined;
}

/** A line, with what of it differs from the one beside it. */
function Side({ kind, isSame, text, other }: SideProps) {
  if (text === undefined) return <td class="files-diff-none" />;
  if (isSame) return <td>{shownLine(text)}</td>;
  const { from, to } = other === undefined ? { from: 0, to: 0 } : differenceOf(text, other);
  return (
    <td class={`files-diff-${kind}`}>
      {shownLine(text.slice(0, from))}
      {from === to ? null : <mark>{shownLine(text.slice(from, to))}</mark>}
      {shownLine(text.slice(to))}
    </td>
  );
}

function shownLine(text: string): string {
  const cut = text.length > MAX_LINE_LENGTH ? `${text.slice(0, MAX_LINE_LENGTH)}…` : text;
  return visibleText(cut.replaceAll("\t", "    "));
}

/** The rows, or why there are none. */
function compare(mine: Uint8Array, disk: Uint8Array, encoding: Encoding) {
  if (mine.length > MAX_BYTES || disk.length > MAX_BYTES) return "They are too large to be compared here.";
  if (contentOf(disk, true).kind === "binary") return "The file on the disk is no longer text.";
  const [one, other] = [contentOf(mine, true, encoding), contentOf(disk, true, encoding)];
  if (one.kind !== "text" || other.kind !== "text") return "They cannot be compared.";
  const [mineLines, diskLines] = [one.text.split("\n"), other.text.split("\n")];
  if (mineLines.length > MAX_LINES || diskLines.length > MAX_LINES)
    return "They have too many lines to be compared here.";
  const compared = diffRows(mineLines, diskLines, MAX_ROWS);
  if (compared.rows.length > 0) return compared;
  return one.ending === other.ending
    ? "Only their byte order marks differ."
    : `Only their line endings differ: yours has ${ENDINGS[one.ending]}, the file on the disk ${ENDINGS[other.ending]}.`;
}
