/**
 * Characters that deceive a reader or control the program that shows them: control characters, direction marks, line
 * separators, lone surrogates, and everything that Unicode allows to be invisible, such as zero-width spaces, fillers,
 * tags and variation selectors. Names, commands and output come from others, and this is the only list.
 */
const DECEIVING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
/** JSON has these outside strings only, as blanks. */
const LAST_JSON_BLANK = 0x1f;

/** Index of the first deceiving character, or -1. */
export function findDeceiving(text: string): number {
  return text.search(DECEIVING);
}

/** A single line that makes a text's contents visible: `\x1b` for an escape, `\u202e` for a direction mark. */
export function visibleText(text: string): string {
  return text.replace(DECEIVING, (character) => {
    const code = character.codePointAt(0)!;
    if (code <= 0xff) return NAMED[character] ?? `\\x${code.toString(16).padStart(2, "0")}`;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : unit(code);
  });
}

/** The same for several lines, which stay lines. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visibleText).join("\n");
}

/** JSON text of the same meaning that can be shown: whatever deceives is escaped. */
export function visibleJson(json: string): string {
  // Almost no text has any, and finding that out takes a fraction of the time of replacing nothing.
  if (findDeceiving(json) < 0) return json;
  return json.replace(DECEIVING, (character) =>
    character.charCodeAt(0) <= LAST_JSON_BLANK
      ? character
      : Array.from({ length: character.length }, (_, index) => unit(character.charCodeAt(index))).join(""),
  );
}

function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
}
