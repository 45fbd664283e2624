import { MAX_JSON_VALUES } from "./limits.ts";

/** What `JSON.parse` does not tell about a text it accepts. */
export interface JsonScan {
  /** A member of the outermost object exactly as written, so that digits above 2^53 survive. */
  readonly memberText: string | undefined;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const SPACE = 32;
const MAX_DEPTH = 127;
/** From here on `indexOf` is faster than looking at each character. */
const SHORT_STRING = 48;

/**
 * Walks over valid JSON text once and finds what the wire forbids: too many values, too deep nesting, a key twice in one object. `value` is
 * what `JSON.parse` made of the text. Long strings are skipped with `indexOf`, so that megabytes of base64 cost next to nothing. Throws an Error in the words of the wire.
 */
export function scanJson(text: string, value: object, member = "id"): JsonScan {
  let depth = 0;
  let values = 0;
  let keys = 0;
  let memberText: string | undefined;
  let keyStart = 0;
  let keyEnd = 0;
  let index = 0;
  const length = text.length;

  while (index < length) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) {
      const end = stringEnd(text, index);
      values += 1;
      keyStart = index;
      keyEnd = end + 1;
      index = keyEnd;
    } else if (code === COLON) {
      // What came before was a key, not a value.
      values -= 1;
      keys += 1;
      index += 1;
      if (depth === 1 && isKey(text, keyStart, keyEnd, member)) memberText = scalarAt(text, index);
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (depth >= MAX_DEPTH) throw new Error(`recursion limit exceeded at ${position(text, index)}`);
      values += 1;
      depth += 1;
      index += 1;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth -= 1;
      index += 1;
    } else if (code === COMMA || code <= SPACE) {
      index += 1;
    } else {
      values += 1;
      index = scalarEnd(text, index);
    }
    if (values > MAX_JSON_VALUES + 1) break;
  }
  if (values > MAX_JSON_VALUES)
    throw new Error(
      `JSON-RPC message exceeds the limit of ${MAX_JSON_VALUES} JSON values at ${position(text, index)}`,
    );
  // Of a repeated key JSON.parse keeps one, so there are fewer keys than were written.
  if (countKeys(value) !== keys) throw new Error(describeRepeatedKey(text));
  return { memberText };
}

function countKeys(value: object): number {
  if (Array.isArray(value)) {
    let count = 0;
    for (const item of value as readonly unknown[])
      if (typeof item === "object" && item !== null) count += countKeys(item);
    return count;
  }
  const names = Object.keys(value);
  let count = names.length;
  for (const name of names) {
    const item = (value as Record<string, unknown>)[name];
    if (typeof item === "object" && item !== null) count += countKeys(item);
  }
  return count;
}

/** The slow way, for the message only. */
function describeRepeatedKey(text: string): string {
  const open: Set<string>[] = [];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) open.push(new Set());
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) open.pop();
    if (code !== QUOTE) continue;
    const end = stringEnd(text, index);
    const key = JSON.parse(text.slice(index, end + 1)) as string;
    index = end;
    if (!/^\s*:/.test(text.slice(end + 1, end + 100))) continue;
    if (open.at(-1)?.has(key)) return `duplicate JSON object key \`${key}\` at ${position(text, end)}`;
    open.at(-1)?.add(key);
  }
  return "duplicate JSON object key";
}

/** Whether the quoted text there spells that name; a shorter one cannot, a longer one only with escapes. */
function isKey(text: string, start: number, end: number, name: string): boolean {
  const length = end - start - 2;
  if (length < name.length) return false;
  if (length === name.length) return text.startsWith(name, start + 1);
  const raw = text.slice(start, end);
  return raw.includes("\\") && JSON.parse(raw) === name;
}

/** The token of a string, number or word; undefined for an object or array. */
function scalarAt(text: string, from: number): string | undefined {
  let start = from;
  while (text.charCodeAt(start) <= SPACE) start += 1;
  const code = text.charCodeAt(start);
  if (code === OPEN_OBJECT || code === OPEN_ARRAY) return undefined;
  return text.slice(start, code === QUOTE ? stringEnd(text, start) + 1 : scalarEnd(text, start));
}

function stringEnd(text: string, start: number): number {
  let end = start + 1;
  for (const shortEnd = start + SHORT_STRING; end < shortEnd; end += 1) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) return end;
    if (code === BACKSLASH) end += 1;
  }
  end = text.indexOf('"', end);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(index - 1 - backslashes) === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}

function scalarEnd(text: string, start: number): number {
  let end = start + 1;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || code <= SPACE) break;
  }
  return end;
}

function position(text: string, index: number): string {
  const before = text.slice(0, index);
  const line = before.split("\n").length;
  return `line ${line} column ${index - before.lastIndexOf("\n")}`;
}
