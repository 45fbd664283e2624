/**
 * Characters that would change how the text around them looks or reads: controls, line breaks, marks of direction,
 * invisible ones.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u{E0100}-\u{E01EF}]/gu;

/** A name or a command as one line that shows what is in it: `\x1b` for an escape, `\u202e` for a mark of direction. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0)!;
    if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
    if (character === "\n") return "\\n";
    if (character === "\t") return "\\t";
    if (character === "\r") return "\\r";
    if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
