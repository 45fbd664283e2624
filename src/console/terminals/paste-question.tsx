import { visibleText } from "../../base/visible-text.ts";
import type { PasteContents } from "./paste.ts";

const SHOWN_LINES = 12;
const SHOWN_COLUMNS = 200;

export interface PasteQuestionProps {
  readonly text: string;
  readonly contents: PasteContents;
  readonly bracketed: boolean;
}

/** What would be pasted, and why that is a question. */
export function PasteQuestion({
  text,
  contents: { lines, enters, controls },
  bracketed,
}: PasteQuestionProps) {
  const shown = text
    .split(/\r\n|\r|\n/, SHOWN_LINES)
    .map((line) => visibleText(line.slice(0, SHOWN_COLUMNS)));
  return (
    <>
      {enters && !bracketed ? (
        <p>
          {lines > 1 ? "Each line is run as soon as it is pasted." : "It is run as soon as it is pasted."}
        </p>
      ) : null}
      {controls > 0 ? (
        <p>
          It has {controls} control {controls === 1 ? "character" : "characters"}, which the program may obey.
        </p>
      ) : null}
      <pre class="term-paste">{shown.join("\n")}</pre>
      {lines > SHOWN_LINES ? <p>… and {lines - SHOWN_LINES} more lines</p> : null}
    </>
  );
}
