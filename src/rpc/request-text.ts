import { MAX_TEXT_CHARACTERS } from "../protocol/wire-limits.ts";

/** Members that hold base64 instead of text, in the requests of any method. */
const DATA_MEMBERS: ReadonlySet<string> = new Set(["chunk", "dataBase64", "bodyBase64"]);

export const TOO_MUCH_TEXT = `the text of a request, data in base64 apart, has at most ${MAX_TEXT_CHARACTERS} characters`;

/** True for parameters with more text than a request may have. `bytes` is the size of the message. */
export function isTooMuchText(params: unknown, bytes: number): boolean {
  return bytes > MAX_TEXT_CHARACTERS && textLength(params) > MAX_TEXT_CHARACTERS;
}

/** Characters of all strings and names that are not data. */
function textLength(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let length = 0;
  if (Array.isArray(value)) for (const item of value as readonly unknown[]) length += textLength(item);
  else
    for (const name of Object.keys(value)) {
      length += name.length;
      if (!DATA_MEMBERS.has(name)) length += textLength((value as Readonly<Record<string, unknown>>)[name]);
    }
  return length;
}

/** True if `text` is a value in the parameters, and no member that holds data has it. */
export function isTextOf(params: unknown, text: string): boolean {
  if (params === text) return true;
  if (typeof params !== "object" || params === null) return false;
  return Object.entries(params).some(([name, value]) => !DATA_MEMBERS.has(name) && isTextOf(value, text));
}
