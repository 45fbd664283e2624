const QUOTE = 34;
const BACKSLASH = 92;
/** From this length on, `indexOf` is faster than checking each character. */
const SHORT_STRING = 8;
/** `indexOf` is slower where escapes are dense; check this many characters before trying it again. */
const DENSE_STRETCH = 1024;
/** Escapes in a stretch that make it dense. */
const DENSE = 64;

/** Index of the quote that closes the JSON string whose opening quote is at `start`, or -1. */
export function stringEnd(text: string, start: number): number {
  let end = start + 1;
  let stretchEnd = start + SHORT_STRING;
  while (end < text.length) {
    let escapes = 0;
    for (; end < stretchEnd; end += 1) {
      const code = text.charCodeAt(end);
      if (code === QUOTE) return end;
      if (code !== BACKSLASH) continue;
      escapes += 1;
      end += 1;
    }
    if (escapes < DENSE) {
      const quote = text.indexOf('"', end);
      if (quote < 0 || !isEscaped(text, quote, end)) return quote;
      end = quote + 1;
    }
    stretchEnd = end + DENSE_STRETCH;
  }
  return -1;
}

/** Nothing before `from` is an escape. */
function isEscaped(text: string, index: number, from: number): boolean {
  let start = index;
  while (start > from && text.charCodeAt(start - 1) === BACKSLASH) start -= 1;
  return (index - start) % 2 === 1;
}
