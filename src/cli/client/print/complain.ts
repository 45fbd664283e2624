import { writeErr } from "../../shared/standard-streams.ts";
import { printable } from "./printable.ts";

/** Characters shown of the beginning and the end of a longer line: the problem, and the remedy. */
const FIRST_CHARACTERS = 1_500;
const LAST_CHARACTERS = 500;

/** Prints one line about this command on stderr, without waiting for a reader. */
export function complain(message: string): void {
  writeErr(`exec-server: ${printable(shortened(message))}\n`);
}

/** A name of a program, or a text of a server, may be long. */
function shortened(text: string): string {
  if (text.length <= FIRST_CHARACTERS + LAST_CHARACTERS) return text;
  return `${text.slice(0, FIRST_CHARACTERS)} … ${text.slice(-LAST_CHARACTERS)}`;
}
