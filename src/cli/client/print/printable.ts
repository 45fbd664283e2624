import { visibleJson, visibleText } from "../../../base/visible-text.ts";

/** Text that is safe to show on one line of a terminal: what the terminal would act on, or hide, is escaped. */
export const printable = visibleText;

/** A value as JSON, with the same escaped. */
export function printableJson(value: unknown): string {
  return visibleJson(JSON.stringify(value));
}

const PLAIN_WORD = /^[\w@%+=:,./-]+$/;

/** A word as it could be typed in a shell. */
export function shellWord(word: string): string {
  return PLAIN_WORD.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
