import { UsageError } from "./errors.ts";

/** With the `u` flag a surrogate pair is one character, so only lone surrogates match. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** Throws unless the text can be an argument, a variable or a path: it must have a UTF-8 form and contain no NUL. */
export function checkText(what: string, text: string): void {
  if (typeof text !== "string") throw new UsageError(`${what} must be text, not ${typeof text}`);
  if (text.includes("\0")) throw new UsageError(`${what} holds a NUL`);
  if (LONE_SURROGATE.test(text))
    throw new UsageError(`${what} holds half of a surrogate pair, which has no UTF-8 form`);
}

/** Throws unless these can be variables of a process. */
export function checkVariables(env: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(env)) {
    checkText("the name of a variable in env", name);
    if (value !== undefined) checkText(`${name} in env`, value);
  }
}
