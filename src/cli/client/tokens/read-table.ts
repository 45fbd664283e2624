import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "../../../base/errors.ts";
import { type Logger, silentLogger } from "../../../base/logger.ts";
import type { RightsContext } from "../../../server/access/rights.ts";
import {
  parseTokens,
  readTokenFile,
  rightsFormat,
  type TokenEntry,
} from "../../../server/access/token-file.ts";
import { defined } from "../../shared/defined.ts";
import { describeFileError, Failure } from "../../shared/failure.ts";
import { complain } from "../print/complain.ts";

/** A token's entry in a table. */
export interface TableEntry {
  readonly name: string;
  readonly preset: string;
  /** The rights as text, to compare them. */
  readonly rights: string;
  readonly expiresAtMs?: number;
  /** The older one first. */
  readonly sha256: readonly string[];
}

/** Reads a file as a server would, and returns what a server would log about it. Throws a UsageError with the line. */
export async function readTableFile(path: string): Promise<TableEntry[]> {
  const { entries } = await readTokenFile(path, rightsFormat(contextOf(path, loudLogger)));
  return entries.map(plain);
}

/** Reads the text of a table as a server would. One without anything in it is a table that begins. */
export async function readTable(path: string, text: string): Promise<TableEntry[]> {
  if (text.split("\n").every((line) => /^\s*(?:#|$)/.test(line))) return [];
  return (await parseTokens(path, text, rightsFormat(contextOf(path)))).map(plain);
}

/** The text of a table; empty if the file does not exist yet. */
export function tableText(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw new Failure(`cannot read ${path}: ${describeFileError(error)}`);
  }
  // It would be written back altered.
  if (!isUtf8(bytes)) throw new Failure(`cannot change ${path}: it is not UTF-8`);
  return bytes.toString("utf8");
}

/** Checks the lines of one token, for a given table or in general. Errors have no line number. */
export async function checkLines(lines: string, table?: string): Promise<void> {
  const path = table ?? "tokens.toml";
  try {
    await parseTokens(path, lines, rightsFormat(contextOf(table, loudLogger)));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { message } = error;
    const said = message.startsWith(`${path}:`) ? message.slice(path.length) : message;
    throw new UsageError(said.replace(/^:\d+(?::\d+)?: /, ""));
  }
}

const loudLogger: Logger = {
  ...silentLogger,
  warn: (message, fields = {}) => complain(`${message}: ${Object.values(fields).join(", ")}`),
};

/** The server itself checks what depends on its flags, such as `fs_roots`. */
function contextOf(path: string | undefined, logger = silentLogger): RightsContext {
  const hiddenPaths = path === undefined ? [] : [resolve(path)];
  return { temporaryDirectory: process.env["TMPDIR"], logger, hiddenPaths, fsRoots: [] };
}

function plain({ name, sha256, rights, expiresAtMs }: TokenEntry): TableEntry {
  const digests = sha256.map((hash) => hash.toString("hex"));
  return defined({ name, preset: rights.preset, rights: rights.key, expiresAtMs, sha256: digests });
}
