import { Failure, usageFailure } from "../../shared/failure.ts";
import { withoutTable } from "../toml-tables.ts";
import { readTable, type TableEntry } from "./read-table.ts";

/** A table with another token at its end, otherwise unchanged. */
export async function withToken(path: string, text: string, name: string, lines: string): Promise<string> {
  const before = await readTable(path, text);
  if (before.some((entry) => entry.name === name))
    throw usageFailure(`${path} has a token '${name}' already; use --rotate to exchange it`);
  const [added] = await readTable(path, lines);
  const whole = `${text === "" || text.endsWith("\n") ? text : `${text}\n`}${text === "" ? "" : "\n"}${lines}`;
  return checked(path, whole, [...before, added!]);
}

/** A table in which a name has a second digest. */
export async function withSecondDigest(
  path: string,
  text: string,
  name: string,
  sha256: string,
): Promise<string> {
  const { before, entry } = await find(path, text, name);
  const [old, second] = entry.sha256;
  if (second !== undefined)
    throw usageFailure(
      `'${name}' has two tokens already; 'exec-server token retire ${name} --table ${path}' ends the older one`,
    );
  const { start, end } = rangeOf(old!, text);
  const quoted = text.slice(start, end);
  // A single digest may be written without brackets.
  const isAlone = text.slice(0, start).trimEnd().endsWith("=");
  const both = isAlone ? `[${quoted}, "${sha256}"]` : `${quoted}, "${sha256}"`;
  const changed = `${text.slice(0, start)}${both}${text.slice(end)}`;
  return checked(path, changed, replaced(before, { ...entry, sha256: [old!, sha256] }));
}

/** A table in which a name has only the newer one of its two digests. */
export async function withoutOlderDigest(path: string, text: string, name: string): Promise<string> {
  const { before, entry } = await find(path, text, name);
  const [old, second] = entry.sha256;
  if (second === undefined)
    throw usageFailure(
      `'${name}' has only one token; 'exec-server token revoke ${name} --table ${path}' ends it`,
    );
  const { start, end } = rangeOf(old!, text);
  const changed = `${text.slice(0, start)}${text.slice(end).replace(/^\s*,\s*/, "")}`;
  return checked(path, changed, replaced(before, { ...entry, sha256: [second] }));
}

/** A table without a name and all of its tokens. */
export async function withoutName(path: string, text: string, name: string): Promise<string> {
  const { before } = await find(path, text, name);
  const index = before.findIndex((entry) => entry.name === name);
  const header = { header: "[[token]]", index, inside: ["[token.", "[[token."] };
  return checked(path, withoutTable(text, header), before.toSpliced(index, 1));
}

async function find(
  path: string,
  text: string,
  name: string,
): Promise<{ before: TableEntry[]; entry: TableEntry }> {
  const before = await readTable(path, text);
  const entry = before.find((each) => each.name === name);
  if (entry === undefined) throw usageFailure(`${path} has no token '${name}'`);
  return { before, entry };
}

function replaced(before: readonly TableEntry[], entry: TableEntry): TableEntry[] {
  return before.map((each) => (each.name === entry.name ? entry : each));
}

/** Position of a digest, with its quotes. It occurs in the table only once, except in comments. */
function rangeOf(sha256: string, text: string): { start: number; end: number } {
  const lineBefore = (at: number): string => text.slice(text.lastIndexOf("\n", at) + 1, at);
  for (const { 0: quoted, index } of text.matchAll(/["'][0-9a-f]{64}["']/gi))
    if (quoted.toLowerCase().includes(sha256) && !lineBefore(index).includes("#"))
      return { start: index, end: index + quoted.length };
  return { start: 0, end: 0 };
}

/** Text was searched without a parser, so the server's reader has the last word about the result. */
async function checked(path: string, text: string, expected: readonly TableEntry[]): Promise<string> {
  const read = await readTable(path, text).catch(() => []);
  if (JSON.stringify(read) === JSON.stringify(expected)) return text;
  throw new Failure(`cannot change ${path} without touching the rest; do it by hand`);
}
