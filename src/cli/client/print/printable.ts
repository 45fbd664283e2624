import { printableJsonText } from "../../../base/printable-json.ts";

const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Controls of the terminal, and characters that change the direction of text or separate lines: names and commands come
 * from others, and a terminal would carry out what they contain.
 */
const UNSAFE = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Text as it can be shown on one line of a terminal: what it would act on is escaped. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.codePointAt(0)!;
    if (code > 0xff) return `\\u${code.toString(16).padStart(4, "0")}`;
    return NAMED[character] ?? `\\x${code.toString(16).padStart(2, "0")}`;
  });
}

/** A value as JSON. Controls that JSON leaves as they are, such as DEL and CSI, are escaped as well. */
export function printableJson(value: unknown, indent?: number): string {
  return printableJsonText(JSON.stringify(value, undefined, indent));
}
