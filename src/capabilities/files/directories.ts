import { lstatSync, mkdirSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { CapabilityError } from "../../base/errors.ts";
import { isErrno } from "../../native/os-error.ts";
import { Turns } from "../turns.ts";
import { joinPath, type NativePath } from "./native-path.ts";
import { createDirectories, createDirectoryNoFollow } from "./no-follow.ts";
import type { Location } from "./location.ts";
import { refuseEntry } from "./writing.ts";

const MAX_DIRECTORY_ENTRIES = 50_000;
/** A message has at most 262 144 values, and an entry with its details has 8: nobody could read the answer. */
const MAX_DETAILED_ENTRIES = 32_000;
/** Replacement for bytes that are not UTF-8. */
const NO_TEXT = "\uFFFD";

export interface DirectoryEntry {
  readonly fileName: string;
  readonly isDirectory: boolean;
  readonly isFile: boolean;
}

/** An entry itself; links are not followed. */
export interface DetailedEntry extends DirectoryEntry {
  readonly isSymlink: boolean;
  readonly mode: number;
  readonly size: number;
  readonly modifiedAtMs: number;
}

export function createDirectory(
  location: Location,
  options: { recursive: boolean; followSymlinks: boolean },
): void | Promise<void> {
  const { path, followSymlinks } = location.check(options);
  if (!followSymlinks) return createDirectoryNoFollow(location, path, options.recursive);
  if (options.recursive) return createWithParents(location, path);
  refuseEntry(location, path);
  mkdirSync(path);
}

/** An existing path must be a directory, or lead to one. */
function createWithParents(location: Location, path: NativePath): void | Promise<void> {
  try {
    refuseEntry(location, path);
    mkdirSync(path);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return createDirectories(location, path, { followSymlinks: true });
    if (!isDirectory(path)) throw error;
  }
}

function isDirectory(path: NativePath): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // A broken link, a loop, or a path that may not be searched.
    return false;
  }
}

/** Links have the type of their target; broken links, and those that lead outside the allowed roots, are omitted. */
export async function readDirectory(location: Location): Promise<DirectoryEntry[]> {
  const found = await location.onTarget({ followSymlinks: true }, listDirectory);
  const entries: DirectoryEntry[] = [];
  const turns = new Turns();
  for (let index = 0; index < found.length; index += 1) {
    const entry = found[index]!;
    const isLink = entry.isSymbolicLink();
    // Checking the clock takes longer than an entry that is not a link.
    if ((isLink || index % 256 === 255) && turns.over) await turns.next();
    const { name } = entry;
    const target = isLink ? location.child(name).statOrNothing() : entry;
    if (target === undefined) continue;
    entries.push({
      fileName: typeof name === "string" ? name : name.toString("utf8"),
      isDirectory: target.isDirectory(),
      isFile: target.isFile(),
    });
  }
  checkCount(entries.length);
  return entries;
}

/** The same with links as links, wherever they lead, and with the metadata of each entry. */
export async function readDirectoryDetails(location: Location): Promise<DetailedEntry[]> {
  return location.onTarget({ followSymlinks: true }, async (directory) => {
    // As bytes, so that each name can be looked up.
    const names = await readdir(directory, { encoding: "buffer" });
    checkCount(names.length);
    if (names.length > MAX_DETAILED_ENTRIES)
      throw new CapabilityError(
        "UNSUPPORTED",
        `${names.length} entries are too many to list with details; limit is ${MAX_DETAILED_ENTRIES}`,
      );
    const entries: DetailedEntry[] = [];
    const turns = new Turns();
    for (const name of names) {
      if (turns.over) await turns.next();
      const stat = lstatSync(joinPath(directory, name), { throwIfNoEntry: false });
      // Removed meanwhile.
      if (stat === undefined) continue;
      entries.push({
        fileName: name.toString("utf8"),
        isDirectory: stat.isDirectory(),
        isFile: stat.isFile(),
        isSymlink: stat.isSymbolicLink(),
        mode: stat.mode & 0o7777,
        size: stat.size,
        modifiedAtMs: Math.trunc(stat.mtimeMs),
      });
    }
    return entries;
  });
}

function checkCount(count: number): void {
  if (count > MAX_DIRECTORY_ENTRIES)
    throw new CapabilityError(
      "OS_ERROR",
      `fs/readDirectory returned ${count} entries; limit is ${MAX_DIRECTORY_ENTRIES}`,
    );
}

interface Listed {
  readonly name: NativePath;
  isDirectory(): boolean;
  isFile(): boolean;
  isSymbolicLink(): boolean;
}

/**
 * Node reads names as text in a third of the time of bytes. Bytes are needed only for a link whose name is not text.
 */
async function listDirectory(directory: NativePath): Promise<Listed[]> {
  // If the file system does not report types, Node looks them up by name, and does not find names that are not text.
  const asText = await readdir(directory, { withFileTypes: true }).catch(() => undefined);
  if (asText?.some((entry) => entry.name.includes(NO_TEXT) && entry.isSymbolicLink()) === false)
    return asText;
  // Node's types declare strings here; the names are buffers.
  const encoding = "buffer" as BufferEncoding;
  return readdir(directory, { withFileTypes: true, encoding });
}
