const MAX_CHARACTERS = 256;
const FIRST_LOW_SURROGATE = 0xdc00;
const LAST_LOW_SURROGATE = 0xdfff;

/** Shortens text from a peer for messages and logs, and marks the cut. Never splits a character. */
export function shorten(text: string, maxCharacters: number = MAX_CHARACTERS): string {
  if (text.length <= maxCharacters) return text;
  const next = text.charCodeAt(maxCharacters);
  const isLow = next >= FIRST_LOW_SURROGATE && next <= LAST_LOW_SURROGATE;
  return `${text.slice(0, isLow ? maxCharacters - 1 : maxCharacters)}…`;
}
