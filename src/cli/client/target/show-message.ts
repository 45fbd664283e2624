import { shorten } from "../../../base/shorten.ts";
import { visibleJson } from "../../../base/visible-text.ts";
import { writeErr } from "../../shared/standard-streams.ts";
import { printable } from "../print/printable.ts";

/** Longer messages are mostly base64. */
const MAX_CHARACTERS = 2_000;
const ARROWS = { sent: "-->", received: "<--" } as const;

/** Prints one message of the wire on stderr, for `--debug`. */
export function showMessage(direction: keyof typeof ARROWS, text: string): void {
  const shown = printable(visibleJson(shorten(text.trimEnd(), MAX_CHARACTERS)));
  writeErr(`${ARROWS[direction]} ${shown}\n`);
}
