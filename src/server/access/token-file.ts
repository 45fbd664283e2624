import type { TomlDate } from "smol-toml";
import { UsageError } from "../../base/errors.ts";
import { systemDisk } from "../../capabilities/sandbox/view/disk.ts";
import { PathWalk } from "../../capabilities/sandbox/view/path-walk.ts";
import { readOwnFile } from "./read-own-file.ts";
import { isTable, readRights, type Refuse, RIGHTS_KEYS } from "./read-rights.ts";
import { canReplace, createRightsOnWalk, followedLinks, type Rights, type RightsContext } from "./rights.ts";

const MAX_TOKENS = 1_000;
/** Two, so that clients can change from one to the other. */
const MAX_HASHES = 2;
const TOKEN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const KEYS = ["name", "sha256", "expires"];

/** One token of a file. */
export interface TokenEntry<R = Rights> {
  readonly name: string;
  readonly sha256: readonly Buffer[];
  readonly rights: R;
  readonly expiresAtMs: number | undefined;
}

/** Reader for the rights of a file's tokens. */
export interface TokenFormat<R> {
  /** Keys of a token that say it. */
  readonly keys: readonly string[];
  /** Called once for each file; the result reads each token. */
  readonly reader: () => (table: Readonly<Record<string, unknown>>, refuse: Refuse) => R;
  /** Refuses tokens that cannot be together in one file. */
  readonly check?: (entries: readonly TokenEntry<R>[], fault: EntryFault) => void;
}

type EntryFault = (index: number, why: string) => UsageError;

/** Tokens for a server. */
export function rightsFormat(context: RightsContext): TokenFormat<Rights> {
  return {
    keys: RIGHTS_KEYS,
    reader: () => {
      const walk = new PathWalk(systemDisk);
      return (table, refuse) => createRightsOnWalk(readRights(table, refuse), context, walk);
    },
    check: refuseReplaceableLinks,
  };
}

/**
 * Reads a token table; nothing is parsed if the text is known. Throws a UsageError with file and line for anything
 * that is not known or makes no sense.
 */
export async function readTokenFile<R>(
  path: string,
  format: TokenFormat<R>,
  known?: string,
): Promise<{ text: string; entries: readonly TokenEntry<R>[] }> {
  const text = readOwnFile(path, "the token table");
  return { text, entries: text === known ? [] : await parseTokens(path, text, format) };
}

/** Reads the text of such a file, which the errors name. */
export async function parseTokens<R>(
  path: string,
  text: string,
  { keys, reader, check }: TokenFormat<R>,
): Promise<TokenEntry<R>[]> {
  const file = await parseToml(path, text);
  const fault = (line: number, why: string): UsageError => new UsageError(`${path}:${line}: ${why}`);
  for (const key of Object.keys(file))
    if (key !== "token")
      throw fault(lineOf(text, 0, key), `${key} is not a known key; there is only [[token]]`);
  const { token: tokens = [] } = file;
  if (!Array.isArray(tokens)) throw fault(lineOf(text, 0, "token"), "token must be a table: [[token]]");
  if (tokens.length > MAX_TOKENS) throw fault(1, `there are more than ${MAX_TOKENS} tokens`);
  const known = [...KEYS, ...keys];
  const rightsOf = reader();
  const starts = startsOf(text);
  const entries = tokens.map((table: unknown, index) => {
    const start = starts[index] ?? 0;
    const refuse: Refuse = (key, why) =>
      fault(lineOf(text, start, key.split(".").at(-1) ?? key), `${key} ${why}`);
    if (!isTable(table)) throw fault(start + 1, "token must be a table: [[token]]");
    try {
      for (const key of Object.keys(table)) if (!known.includes(key)) throw refuse(key, "is not a known key");
      return { ...readToken(table, refuse), rights: rightsOf(table, refuse) };
    } catch (error) {
      if (!(error instanceof UsageError) || error.message.startsWith(`${path}:`)) throw error;
      throw fault(start + 1, error.message);
    }
  });
  const faultOf: EntryFault = (index, why) => fault((starts[index] ?? 0) + 1, why);
  checkUnique(entries, faultOf);
  check?.(entries, faultOf);
  return entries;
}

function readToken(table: Readonly<Record<string, unknown>>, refuse: Refuse): Omit<TokenEntry, "rights"> {
  const { name, sha256, expires } = table;
  if (typeof name !== "string" || !TOKEN_NAME.test(name))
    throw refuse(
      "name",
      "must have 1 to 64 letters, digits, `_`, `.` and `-`, and start with a letter or digit",
    );
  const hashes: unknown[] = Array.isArray(sha256) ? sha256 : [sha256];
  const isHash = (hash: unknown): hash is string => typeof hash === "string" && /^[0-9a-f]{64}$/i.test(hash);
  if (hashes.length === 0 || hashes.length > MAX_HASHES || !hashes.every(isHash))
    throw refuse("sha256", `must be one or ${MAX_HASHES} SHA-256 digests of 64 hexadecimal digits`);
  return {
    name,
    sha256: hashes.map((hash) => Buffer.from(hash, "hex")),
    expiresAtMs: expires === undefined ? undefined : readTime(expires, refuse),
  };
}

function readTime(value: unknown, refuse: Refuse): number {
  const isTime = value instanceof Date && (value as TomlDate).isDateTime() && !(value as TomlDate).isLocal();
  if (isTime && !Number.isNaN(value.getTime())) return value.getTime();
  throw refuse("expires", "must be a date and time with its zone, such as 2027-01-31T00:00:00Z");
}

function checkUnique(entries: readonly Omit<TokenEntry, "rights">[], fault: EntryFault): void {
  const names = new Set<string>();
  const hashes = new Set<string>();
  for (const [index, { name, sha256 }] of entries.entries()) {
    if (names.has(name)) throw fault(index, `the name ${name} is used twice`);
    names.add(name);
    for (const hash of sha256.map((bytes) => bytes.toString("hex"))) {
      if (hashes.has(hash)) throw fault(index, `a sha256 of ${name} is used twice`);
      hashes.add(hash);
    }
  }
}

/** A client that can replace a link on the way to a directory controls where another token's policy leads. */
function refuseReplaceableLinks(entries: readonly TokenEntry[], fault: EntryFault): void {
  for (const [index, { rights }] of entries.entries())
    for (const link of followedLinks(rights)) {
      const other = entries.find((entry) => canReplace(entry.rights, link));
      if (other !== undefined)
        throw fault(
          index,
          `policy leads through the link ${link}, which the token ${other.name} can replace: ` +
            "name the directory that it leads to",
        );
    }
}

async function parseToml(path: string, text: string): Promise<Record<string, unknown>> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [summary = ""] = error.message.split("\n");
    throw new UsageError(`${path}:${error.line}:${error.column}: ${summary}`);
  }
}

/** Indexes of the lines on which tokens begin, because the parser does not report them. */
function startsOf(text: string): number[] {
  return text.split("\n").flatMap((line, at) => (/^\s*\[\[\s*token\s*\]\]/.test(line) ? [at] : []));
}

/** Number of the first line from an index on that names a key, or of the line at that index. */
function lineOf(text: string, start: number, key: string): number {
  const isKey = (line: string): boolean =>
    line
      .replaceAll(/[\s"'[\]]/g, "")
      .split("=", 1)[0]
      ?.split(".")
      .at(-1) === key;
  const index = text.split("\n").findIndex((line, at) => at >= start && isKey(line));
  return (index < 0 ? start : index) + 1;
}
