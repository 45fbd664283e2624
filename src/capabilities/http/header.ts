import { isUtf8 } from "node:buffer";

export type Header = readonly [name: string, value: string];

const ASCII = /^[\0-\x7f]*$/;
const ESCAPE = /%([0-9a-f]{2})/gi;

/** Groups headers so that repeats follow the first of their name. */
export function inGroups(headers: readonly Header[]): readonly Header[] {
  const groups = new Map<string, Header[]>();
  for (const header of headers) {
    const group = groups.get(header[0]);
    if (group === undefined) groups.set(header[0], [header]);
    else group.push(header);
  }
  return groups.size === headers.length ? headers : [...groups.values()].flat();
}

/** The items of a list header, in lower case. */
export function tokens(headers: readonly Header[], wanted: string): string[] {
  const words: string[] = [];
  for (const [name, value] of headers)
    if (name === wanted) for (const word of value.split(",")) words.push(word.trim().toLowerCase());
  return words;
}

/** The UTF-8 bytes of a value, one character each. */
export function toBytes(value: string): string {
  return ASCII.test(value) ? value : Buffer.from(value).toString("latin1");
}

/** Names and values in turn, as undici takes them. */
export function flatHeaders(headers: readonly Header[]): string[] {
  return headers.flatMap(([name, value]) => [name, toBytes(value)]);
}

/**
 * User and password of a URL as basic authorization; undefined if it has none. A part that is not UTF-8 is dropped, and
 * so is a password without a user.
 */
export function urlCredentials({ username, password }: URL): string | undefined {
  const name = decode(username);
  if (name === undefined || (username === "" && password === "")) return undefined;
  return `Basic ${Buffer.from(`${name}:${decode(password) ?? ""}`).toString("base64")}`;
}

/** Invalid escapes are kept literally. */
function decode(text: string): string | undefined {
  const bytes = Buffer.from(
    text.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  return isUtf8(bytes) ? bytes.toString() : undefined;
}
