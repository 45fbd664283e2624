import { posix } from "node:path";
import { FileError } from "../../../client/files/file-error.ts";
import type { DetailedEntry } from "../../../client/files/file-stat.ts";
import type { Files } from "../../../client/files/files.ts";

/** Requests about entries that are under way at a time. */
const MAX_REQUESTS = 32;

/** One entry of a listing. */
export interface Listed {
  readonly name: string;
  readonly path: string;
  readonly kind: DetailedEntry["kind"];
  readonly special?: DetailedEntry["special"];
  /** Absent if the server does not report it. */
  readonly size?: number | undefined;
  readonly mode?: number | undefined;
  /** Time of a link's target. */
  readonly modified?: Date | undefined;
  /** Text of a link. */
  readonly target?: string | undefined;
  /** The entry is a path from the command line, not an entry of a directory. */
  readonly isNamed?: boolean;
}

/** The entries of a directory, or the file itself, which is then called `name`. */
export async function listPath(files: Files, path: string, name: string): Promise<readonly Listed[]> {
  try {
    const entries: readonly Omit<Listed, "path">[] = await listDirectory(files, path);
    return entries.map((entry) => ({ ...entry, path: posix.join(path, entry.name) }));
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    const { kind, size, mode } = await files.stat(path);
    if (kind === "directory") throw error;
    return [{ name, path, kind, size, mode, isNamed: true }];
  }
}

/** A Codex server returns only names and kinds, and leaves broken links out. */
async function listDirectory(files: Files, path: string): Promise<readonly Omit<Listed, "path">[]> {
  try {
    return await files.listDetails(path);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "UNSUPPORTED") throw error;
    return await files.list(path);
  }
}

/** Adds what takes another request to learn. An entry that has vanished, or a broken link, stays without. */
export async function withTimes(files: Files, entries: readonly Listed[]): Promise<readonly Listed[]> {
  const completed = [...entries];
  const indexes = completed.keys();
  const work = async (): Promise<void> => {
    for (const index of indexes) completed[index] = await withTime(files, completed[index]!);
  };
  await Promise.all(Array.from({ length: MAX_REQUESTS }, work));
  return completed;
}

async function withTime(files: Files, entry: Listed): Promise<Listed> {
  const target = entry.kind === "link" ? await orUndefined(files.readLink(entry.path)) : undefined;
  const stat = await orUndefined(files.stat(entry.path));
  const { size = stat?.size, mode = stat?.mode } = entry;
  const { modified = entry.modified } = stat ?? {};
  return { ...entry, target: target ?? entry.target, modified, size, mode };
}

async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof FileError) return undefined;
    throw error;
  }
}
