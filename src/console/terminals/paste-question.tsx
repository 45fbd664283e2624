import { confirm } from "../ui/confirm.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { contentsOf, mustAsk } from "./paste.ts";

const SHOWN_LINES = 12;
const SHOWN_COLUMNS = 200;

/** Shows what would be pasted and why that is a question, unless it can do no harm. */
export async function confirmPaste(text: string, { bracketed }: { bracketed: boolean }): Promise<boolean> {
  const contents = contentsOf(text);
  if (!mustAsk(contents, { bracketed })) return true;
  const { lines, enters, controls } = contents;
  const shown = text
    .split(/\r\n|\r|\n/, SHOWN_LINES)
    .map((line) => visibleText(line.slice(0, SHOWN_COLUMNS)));
  return confirm({
    title: lines > 1 ? `Paste ${lines} lines?` : "Paste this?",
    text: (
      <>
        {enters && !bracketed ? (
          <p>
            {lines > 1 ? "Each line is run as soon as it is pasted." : "It is run as soon as it is pasted."}
          </p>
        ) : null}
        {controls > 0 ? (
          <p>
            It has {controls} control {controls === 1 ? "character" : "characters"}, which the program may
            obey.
          </p>
        ) : null}
        <pre class="term-paste">{shown.join("\n")}</pre>
        {lines > SHOWN_LINES ? <p>… and {lines - SHOWN_LINES} more lines</p> : null}
      </>
    ),
    action: "Paste",
  });
}
