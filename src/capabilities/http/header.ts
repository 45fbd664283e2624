import { isUtf8 } from "node:buffer";

export type Header = readonly [name: string, value: string];

const ASCII = /^[\0-\x7f]*$/;
const ESCAPE = /%([0-9a-f]{2})/gi;

/** Headers with repeats behind the first of their name. */
export function inGroups(headers: readonly Header[]): readonly Header[] {
  const groups = new Map<string, Header[]>();
  for (const header of headers) {
    const group = groups.get(header[0]);
    if (group === undefined) groups.set(header[0], [header]);
    else group.push(header);
  }
  return groups.size === headers.length ? headers : [...groups.values()].flat();
}

/** The words of a header that is a list, in lower case. */
export function tokens(headers: readonly Header[], wanted: string): string[] {
  const words: string[] = [];
  for (const [name, value] of headers)
    if (name === wanted) for (const word of value.split(",")) words.push(word.trim().toLowerCase());
  return words;
}

/** The bytes of a value's UTF-8, one character for each. */
export function toBytes(value: string): string {
  return ASCII.test(value) ? value : Buffer.from(value).toString("latin1");
}

/** The name and password of a URL as basic authorization; undefined without, and where they are no text. */
export function urlCredentials({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return undefined;
  const text = Buffer.from(`${unescape(username)}:${unescape(password)}`, "latin1");
  return isUtf8(text) ? `Basic ${text.toString("base64")}` : undefined;
}

/** One character for each byte. What only looks like an escape stays as it is. */
function unescape(text: string): string {
  return text.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
