import { shorten } from "../../../base/shorten.ts";
import { writeErr } from "../../standard-streams.ts";

/** Longer messages are mostly base64. */
const MAX_CHARACTERS = 2_000;
const ARROWS = { sent: "-->", received: "<--" } as const;

/** Prints one message of the wire on stderr, for `--debug`. */
export function showMessage(direction: keyof typeof ARROWS, text: string): void {
  writeErr(`${ARROWS[direction]} ${shorten(text.trimEnd(), MAX_CHARACTERS)}\n`);
}
