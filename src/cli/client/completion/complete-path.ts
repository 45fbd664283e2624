import { parseRemotePath, type RemotePath } from "../target/remote-path.ts";

/** One name in a directory of a server. */
export interface PathName {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** A shell asks before it shows more than a hundred; nobody reads a thousand. */
const MAX_CANDIDATES = 1_000;

/**
 * A shell inserts candidates as they are. What it could take for something else than one word is not offered: names
 * come from a server, which may be hostile.
 */
const MAX_NAME_LENGTH = 255;
const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9_.@-]*$/;
const PLAIN_LABEL = /^[A-Za-z0-9][A-Za-z0-9._/-]*=[A-Za-z0-9._/:@+-]+$/;
const PLAIN_PATH = /^[\p{L}\p{N}_./:][\p{L}\p{M}\p{N}_.,:@+=/-]*$/u;

/** Whether a name of a host or a process can be offered. */
export function isPlainName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && PLAIN_NAME.test(name);
}

/** Whether a label can be offered. */
export function isPlainLabel(label: string): boolean {
  return label.length <= MAX_NAME_LENGTH && PLAIN_LABEL.test(label);
}

/** Words that continue a path as it was typed: `PATH`, `:PATH` or `HOST:PATH`. Those of directories end with a slash. */
export async function completePath(
  typed: string,
  list: (directory: RemotePath) => Promise<readonly PathName[]>,
): Promise<readonly string[]> {
  const { host, path } = parseRemotePath(typed);
  const directory = path.slice(0, path.lastIndexOf("/") + 1);
  const begun = path.slice(directory.length);
  const before = typed.slice(0, typed.length - begun.length);
  const words: string[] = [];
  for (const { name, isDirectory } of await list({ host, path: directory })) {
    if (!name.startsWith(begun) || (name.startsWith(".") && !begun.startsWith("."))) continue;
    const word = `${before}${name}${isDirectory ? "/" : ""}`;
    if (name.length > MAX_NAME_LENGTH || name.includes("/") || !PLAIN_PATH.test(word)) continue;
    if (words.push(word) === MAX_CANDIDATES) break;
  }
  return words;
}
