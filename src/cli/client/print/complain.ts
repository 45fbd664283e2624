import { writeErr } from "../../shared/standard-streams.ts";
import { printable } from "./printable.ts";

/** Beginning and end of a longer line that are shown: what is wrong, and the remedy. */
const FIRST_CHARACTERS = 1_500;
const LAST_CHARACTERS = 500;

/** Prints one line about this command on stderr. Nobody has to read it. */
export function complain(message: string): void {
  writeErr(`exec-server: ${printable(shortened(message))}\n`);
}

/** A name of a program, or a text of a server, may be long. */
function shortened(text: string): string {
  if (text.length <= FIRST_CHARACTERS + LAST_CHARACTERS) return text;
  return `${text.slice(0, FIRST_CHARACTERS)} … ${text.slice(-LAST_CHARACTERS)}`;
}
