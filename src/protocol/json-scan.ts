import { MAX_HASHED_CHARACTERS } from "../base/hashed-text.ts";
import { stringEnd } from "../base/json-string.ts";
import { shorten } from "../base/shorten.ts";
import { MAX_DIFFERENT_KEYS, MAX_JSON_VALUES } from "./wire-limits.ts";

/** Facts about JSON text, collected before it is parsed. */
interface JsonScan {
  /** A member of the outermost object exactly as written, so that digits above 2^53 survive. */
  readonly memberText: string | undefined;
  /** Number of keys as written, in all objects together. */
  readonly keys: number;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
const SPACE = 32;
const NEWLINE = 10;
const MAX_DEPTH = 127;
/** Maximum characters outside strings: thirty per allowed value. */
const MAX_OUTSIDE_STRINGS = 8 * 1024 * 1024;
/** With the quotes. */
const MAX_KEY_CHARACTERS = MAX_HASHED_CHARACTERS + 1;
/** A shorter text cannot have more keys: each takes quotes, a colon and a value. */
const MANY_KEYS_CHARACTERS = MAX_DIFFERENT_KEYS * 4;
/** Maximum escapes in all strings together; each costs far more than a plain character. */
const MAX_ESCAPES = 512 * 1024;
/** Line and column are counted only up to this offset. */
const MAX_COUNTED = 1024 * 1024;

/**
 * Parses JSON within the limits of the wire, and returns a member of the outermost object as written. A scan before
 * parsing rejects too many values, deep nesting, too many escapes or blanks, and repeated keys: `JSON.parse` takes
 * seconds and gigabytes for a few megabytes of brackets. Long strings are skipped, so megabytes of base64 cost almost
 * nothing. Throws an Error with the wire's wording.
 */
export function parseJson(text: string, member = "id"): { value: unknown; memberText: string | undefined } {
  checkEscapes(text);
  const { memberText, keys } = scanJson(text, member);
  const value = JSON.parse(text) as unknown;
  // JSON.parse keeps only one of a repeated key, so the value has fewer keys than the text.
  if (typeof value === "object" && value !== null && missingKeys(value, keys) > 0)
    throw new Error(describeRepeatedKey(text));
  return { value, memberText };
}

function checkEscapes(text: string): void {
  if (text.length <= 2 * MAX_ESCAPES) return;
  let escapes = 0;
  for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", at + 2)) {
    escapes += 1;
    if (escapes > MAX_ESCAPES)
      throw new Error(
        `JSON-RPC message exceeds the limit of ${MAX_ESCAPES} escapes at ${position(text, at)}`,
      );
  }
}

/** For text that is not JSON, the result is meaningless, but the cost is the same. */
function scanJson(text: string, member: string): JsonScan {
  let depth = 0;
  let values = 0;
  let keys = 0;
  let memberText: string | undefined;
  /** The next value belongs to the member. */
  let isMember = false;
  let keyStart = 0;
  let keyEnd = 0;
  let index = 0;
  const length = text.length;
  const differentKeys = length > MANY_KEYS_CHARACTERS ? new Set<string>() : undefined;
  /** Offset at which too many characters would be outside strings. */
  let limit = MAX_OUTSIDE_STRINGS;

  while (index < length) {
    const code = text.charCodeAt(index);
    if (index > limit)
      throw new Error(
        `JSON-RPC message exceeds the limit of ${MAX_OUTSIDE_STRINGS} characters outside strings at ${position(text, index)}`,
      );
    if (code <= SPACE || code === COMMA) {
      index += 1;
      continue;
    }
    if (code === QUOTE) {
      values += 1;
      keyStart = index;
      keyEnd = stringEnd(text, index) + 1;
      if (keyEnd === 0) break;
      index = keyEnd;
      limit += keyEnd - keyStart;
      if (isMember) memberText = text.slice(keyStart, keyEnd);
      isMember = false;
    } else if (code === COLON) {
      // The preceding string was a key, not a value.
      if (keyEnd - keyStart > MAX_KEY_CHARACTERS)
        throw new Error(
          `JSON object key exceeds the limit of ${MAX_KEY_CHARACTERS} characters at ${position(text, keyEnd)}`,
        );
      if (differentKeys !== undefined) {
        // Without the quotes: with them, the longest keys would all have one hash.
        differentKeys.add(text.slice(keyStart + 1, keyEnd - 1));
        if (differentKeys.size > MAX_DIFFERENT_KEYS)
          throw new Error(
            `JSON-RPC message exceeds the limit of ${MAX_DIFFERENT_KEYS} different keys at ${position(text, keyEnd)}`,
          );
      }
      values -= 1;
      keys += 1;
      index += 1;
      isMember = depth === 1 && isKey(text, keyStart, keyEnd, member);
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (depth >= MAX_DEPTH) throw new Error(`recursion limit exceeded at ${position(text, index)}`);
      values += 1;
      depth += 1;
      index += 1;
      isMember = false;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth -= 1;
      index += 1;
    } else {
      values += 1;
      const end = scalarEnd(text, index, limit);
      if (isMember) memberText = text.slice(index, end);
      isMember = false;
      index = end;
    }
    // The last one may still turn out to be a key.
    if (values > MAX_JSON_VALUES + 1) break;
  }
  if (values > MAX_JSON_VALUES)
    throw new Error(
      `JSON-RPC message exceeds the limit of ${MAX_JSON_VALUES} JSON values at ${position(text, index)}`,
    );
  return { memberText, keys };
}

/** Counts the `keys` that are missing in the value. Stops as soon as all are found. */
function missingKeys(value: object, keys: number): number {
  let missing = keys;
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) {
      if (missing === 0) return 0;
      if (typeof item === "object" && item !== null) missing = missingKeys(item, missing);
    }
    return missing;
  }
  const names = Object.keys(value);
  missing -= names.length;
  for (const name of names) {
    if (missing === 0) return 0;
    const item = (value as Record<string, unknown>)[name];
    if (typeof item === "object" && item !== null) missing = missingKeys(item, missing);
  }
  return missing;
}

/** Slow; used only to build the error message. */
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
    if (open.at(-1)?.has(key))
      return `duplicate JSON object key \`${shorten(key)}\` at ${position(text, end)}`;
    open.at(-1)?.add(key);
  }
  return "duplicate JSON object key";
}

/** True if the quoted text spells `name`: a shorter text cannot, a longer one only with escapes. */
function isKey(text: string, start: number, end: number, name: string): boolean {
  const length = end - start - 2;
  if (length < name.length) return false;
  if (length === name.length) return text.startsWith(name, start + 1);
  const raw = text.slice(start, end);
  return raw.includes("\\") && JSON.parse(raw) === name;
}

/** End of the scalar, or an index beyond the limit. */
function scalarEnd(text: string, start: number, limit: number): number {
  let end = start + 1;
  for (; end < text.length && end <= limit; end += 1) {
    const code = text.charCodeAt(end);
    if (code > COMMA && code < OPEN_ARRAY) continue;
    if (code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY || code <= SPACE) break;
  }
  return end;
}

function position(text: string, index: number): string {
  if (index > MAX_COUNTED) return `position ${index}`;
  let line = 1;
  let lineStart = 0;
  for (let at = 0; at < index; at += 1) {
    if (text.charCodeAt(at) !== NEWLINE) continue;
    line += 1;
    lineStart = at + 1;
  }
  return `line ${line} column ${index - lineStart + 1}`;
}
