/** What JSON leaves as it is, though it controls a terminal, separates lines or changes the direction of text. */
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** JSON text of the same meaning that can be shown: whatever a terminal or a viewer would act on is escaped. */
export function printableJsonText(json: string): string {
  // Almost no text has any, and finding that out takes a fraction of the time of replacing nothing.
  if (json.search(UNSAFE) < 0) return json;
  return json.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
