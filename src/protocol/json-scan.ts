import { MAX_JSON_VALUES } from "./limits.ts";

/** What `JSON.parse` does not tell about a text it accepts. */
export interface JsonScan {
  /** The `id` member of the outermost object exactly as written, so that digits above 2^53 survive. */
  readonly idText: string | undefined;
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
const SET_FROM_KEYS = 8;

/**
 * Walks over valid JSON text once, counting values, looking for repeated keys and picking out the id. Strings are skipped with
 * `indexOf`, so that megabytes of base64 cost next to nothing. Throws an Error in the words of the wire.
 */
export function scanJson(text: string): JsonScan {
  const open: (KeySet | undefined)[] = [];
  let keys: KeySet | undefined;
  let expectKey = false;
  let idFollows = false;
  let idText: string | undefined;
  let values = 0;
  let index = 0;

  while (index < text.length) {
    const code = text.charCodeAt(index);
    if (code <= SPACE || code === COLON) {
      index += 1;
    } else if (code === COMMA) {
      expectKey = keys !== undefined;
      index += 1;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      keys = open.pop();
      expectKey = false;
      index += 1;
    } else if (expectKey) {
      const end = stringEnd(text, index);
      const key = readKey(text, index, end);
      if (!keys!.add(key)) throw new Error(`duplicate JSON object key \`${key}\` at ${position(text, end)}`);
      idFollows = key === "id" && open.length === 1;
      expectKey = false;
      index = end + 1;
    } else {
      values += 1;
      if (values > MAX_JSON_VALUES)
        throw new Error(
          `JSON-RPC message exceeds the limit of ${MAX_JSON_VALUES} JSON values at ${position(text, index)}`,
        );
      if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        if (open.length >= MAX_DEPTH) throw new Error(`recursion limit exceeded at ${position(text, index)}`);
        open.push(keys);
        keys = code === OPEN_OBJECT ? new KeySet() : undefined;
        expectKey = keys !== undefined;
        index += 1;
      } else {
        const end = code === QUOTE ? stringEnd(text, index) + 1 : scalarEnd(text, index);
        if (idFollows) idText = text.slice(index, end);
        index = end;
      }
      idFollows = false;
    }
  }
  return { idText };
}

/** Most objects are small, where a list beats a Set. */
class KeySet {
  readonly #list: string[] = [];
  #set: Set<string> | undefined;

  add(key: string): boolean {
    if (this.#set) {
      const size = this.#set.size;
      return this.#set.add(key).size > size;
    }
    if (this.#list.includes(key)) return false;
    this.#list.push(key);
    if (this.#list.length > SET_FROM_KEYS) this.#set = new Set(this.#list);
    return true;
  }
}

function readKey(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end);
  return raw.includes("\\") ? (JSON.parse(text.slice(start, end + 1)) as string) : raw;
}

function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
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
