import { UsageError } from "./errors.ts";

/** With the `u` flag a surrogate pair is one character, so only lone surrogates match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** Whether text has a UTF-8 form. The built-in is faster, but some browsers lack it. */
export function isWellFormed(text: string & { isWellFormed?: () => boolean }): boolean {
  return text.isWellFormed?.() ?? !LONE_SURROGATE.test(text);
}

/** Throws unless the text can be an argument, a variable or a path: it must have a UTF-8 form and contain no NUL. */
export function checkText(what: string, text: string): void {
  if (typeof text !== "string") throw new UsageError(`${what} must be text, not ${typeof text}`);
  if (text.includes("\0")) throw new UsageError(`${what} contains a NUL`);
  if (!isWellFormed(text))
    throw new UsageError(`${what} contains half of a surrogate pair, which UTF-8 cannot encode`);
}

/** Throws unless these can be variables of a process. */
export function checkVariables(env: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(env)) {
    checkText("the name of a variable in env", name);
    if (value !== undefined) checkText(`${name} in env`, value);
  }
}
