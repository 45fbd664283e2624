import type { TomlDate } from "smol-toml";
import { UsageError } from "../../base/errors.ts";
import { systemDisk } from "../../capabilities/sandbox/view/disk.ts";
import { PathWalk } from "../../capabilities/sandbox/view/path-walk.ts";
import { readOwnFile } from "./read-own-file.ts";
import { isTable, readRights, RIGHTS_KEYS } from "./read-rights.ts";
import { canReplace, createRightsOnWalk, followedLinks, type Rights, type RightsContext } from "./rights.ts";
import type { RightsOptions } from "../settings/rights-options.ts";

const MAX_TOKENS = 1_000;
/** Two, so that clients can change from one to the other. */
const MAX_HASHES = 2;
const TOKEN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const KEYS = ["name", "sha256", "expires", ...RIGHTS_KEYS];

/** One token of a file. */
export interface TokenEntry {
  readonly name: string;
  readonly sha256: readonly Buffer[];
  readonly rights: Rights;
  readonly expiresAtMs: number | undefined;
}

/**
 * Reads a token table; nothing is parsed if the text is known. Throws a UsageError with file and line for anything
 * that is not known or makes no sense.
 */
export async function readTokenFile(
  path: string,
  context: RightsContext,
  known?: string,
): Promise<{ text: string; entries: readonly TokenEntry[] }> {
  const text = readOwnFile(path, "the token table");
  return { text, entries: text === known ? [] : await parseTokens(path, text, context) };
}

/** Reads the text of such a file, which the errors name. */
export async function parseTokens(path: string, text: string, context: RightsContext): Promise<TokenEntry[]> {
  const file = await parseToml(path, text);
  const fault = (line: number, why: string): UsageError => new UsageError(`${path}:${line}: ${why}`);
  for (const key of Object.keys(file))
    if (key !== "token")
      throw fault(lineOf(text, 0, key), `${key} is not a known key; there is only [[token]]`);
  const { token: tokens = [] } = file;
  if (!Array.isArray(tokens)) throw fault(lineOf(text, 0, "token"), "token must be a table: [[token]]");
  if (tokens.length > MAX_TOKENS) throw fault(1, `there are more than ${MAX_TOKENS} tokens`);
  const walk = new PathWalk(systemDisk);
  const starts = startsOf(text);
  const entries = tokens.map((table: unknown, index) => {
    const start = starts[index] ?? 0;
    const refuse = (key: string, why: string): UsageError =>
      fault(lineOf(text, start, key.split(".").at(-1) ?? key), `${key} ${why}`);
    if (!isTable(table)) throw fault(start + 1, "token must be a table: [[token]]");
    try {
      return readToken(table, refuse, (rights) => createRightsOnWalk(rights, context, walk));
    } catch (error) {
      if (!(error instanceof UsageError) || error.message.startsWith(`${path}:`)) throw error;
      throw fault(start + 1, error.message);
    }
  });
  const faultOf = (index: number, why: string): UsageError => fault((starts[index] ?? 0) + 1, why);
  checkUnique(entries, faultOf);
  refuseReplaceableLinks(entries, faultOf);
  return entries;
}

function readToken(
  table: Readonly<Record<string, unknown>>,
  refuse: (key: string, why: string) => UsageError,
  rightsOf: (options: RightsOptions) => Rights,
): TokenEntry {
  for (const key of Object.keys(table)) if (!KEYS.includes(key)) throw refuse(key, "is not a known key");
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
    rights: rightsOf(readRights(table, refuse)),
    expiresAtMs: expires === undefined ? undefined : readTime(expires, refuse),
  };
}

function readTime(value: unknown, refuse: (key: string, why: string) => UsageError): number {
  const isTime = value instanceof Date && (value as TomlDate).isDateTime() && !(value as TomlDate).isLocal();
  if (isTime && !Number.isNaN(value.getTime())) return value.getTime();
  throw refuse("expires", "must be a date and time with its zone, such as 2027-01-31T00:00:00Z");
}

function checkUnique(
  entries: readonly TokenEntry[],
  fault: (index: number, why: string) => UsageError,
): void {
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

/** Whoever can replace a link on the way to a directory decides where the policy of another token leads. */
function refuseReplaceableLinks(
  entries: readonly TokenEntry[],
  fault: (index: number, why: string) => UsageError,
): void {
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
  const found = text.split("\n").findIndex((line, at) => at >= start && isKey(line));
  return (found < 0 ? start : found) + 1;
}
