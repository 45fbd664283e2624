import { UsageError } from "./errors.ts";

/** With the flag `u` a pair is one character, so only halves match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** Throws unless a system can take the text as an argument, a variable or a path: it has a UTF-8 form, and no NUL, which would end it. */
export function checkText(what: string, text: string): void {
  if (typeof text !== "string") throw new UsageError(`${what} must be text, not ${typeof text}`);
  if (text.includes("\0")) throw new UsageError(`${what} holds a NUL`);
  if (LONE_SURROGATE.test(text))
    throw new UsageError(`${what} holds half of a surrogate pair, which has no UTF-8 form`);
}
