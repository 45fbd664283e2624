import { stringEnd } from "../base/json-string.ts";

const QUOTE = 34;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** Adds a member to a message's params without changing anything else in its text. `text` is a valid message. */
export function insertParam(text: string, name: string, value: string): string {
  const start = paramsStart(text);
  if (start < 0) return text;
  const isEmpty = /^\s*\}/.test(text.slice(start, start + 64));
  const member = `${JSON.stringify(name)}:${JSON.stringify(value)}${isEmpty ? "" : ","}`;
  return `${text.slice(0, start)}${member}${text.slice(start)}`;
}

/** Index behind the brace that opens the params, or -1. */
function paramsStart(text: string): number {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth += 1;
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1;
    if (code !== QUOTE) continue;
    const end = stringEnd(text, index);
    const opening = /^"\s*:\s*\{/.exec(text.slice(end, end + 64))?.[0];
    if (depth === 1 && opening !== undefined && JSON.parse(text.slice(index, end + 1)) === "params")
      return end + opening.length;
    index = end;
  }
  return -1;
}
