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

/** The name and password of a URL as basic authorization; undefined without. What is not UTF-8 is left out, and without its name a password too. */
export function urlCredentials({ username, password }: URL): string | undefined {
  const name = decode(username);
  if (name === undefined || (username === "" && password === "")) return undefined;
  return `Basic ${Buffer.from(`${name}:${decode(password) ?? ""}`).toString("base64")}`;
}

/** What only looks like an escape stays as it is. */
function decode(text: string): string | undefined {
  const bytes = Buffer.from(
    text.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  return isUtf8(bytes) ? bytes.toString() : undefined;
}
