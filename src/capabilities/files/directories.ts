import { type Dirent, lstatSync, mkdirSync, type Stats, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { CapabilityError } from "../../base/errors.ts";
import { isErrno } from "../../native/os-error.ts";
import { resultOr } from "../../native/result-or.ts";
import { Turns } from "../turns.ts";
import { describe, type Metadata } from "./metadata.ts";
import { joinPath, type NativePath } from "./native-path.ts";
import { createDirectories, createDirectoryNoFollow } from "./no-follow.ts";
import type { Location } from "./location.ts";
import { refuseEntry } from "./writing.ts";

const MAX_DIRECTORY_ENTRIES = 50_000;
/** A message has at most 262 144 values, and an entry with details has up to 9: a longer answer could not be parsed. */
const MAX_DETAILED_ENTRIES = 29_000;
/** Replacement for bytes that are not UTF-8. */
const NO_TEXT = "\uFFFD";

export interface DirectoryEntry {
  readonly fileName: string;
  readonly isDirectory: boolean;
  readonly isFile: boolean;
}

/** An entry itself; links are not followed. */
export type DetailedEntry = DirectoryEntry &
  Metadata & { readonly special?: "pipe" | "socket" | "block device" | "character device" };

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
    // Also fails for a broken link, a loop, or a path that may not be searched.
    if (!resultOr(false, () => statSync(path).isDirectory())) throw error;
  }
}

/** Links have the type of their target; broken links, and links out of the allowed roots, are omitted. */
export async function readDirectory(location: Location): Promise<DirectoryEntry[]> {
  const listed = await location.onTarget({ followSymlinks: true }, listDirectory);
  const entries: DirectoryEntry[] = [];
  const turns = new Turns();
  for (let index = 0; index < listed.length; index += 1) {
    const entry = listed[index]!;
    const isLink = entry.isSymbolicLink();
    // Checking the clock takes longer than an entry that is not a link.
    if ((isLink || index % 256 === 255) && turns.over) await turns.next();
    const { name } = entry;
    const target = isLink ? location.child(name).statIfExists() : entry;
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

function specialKindOf(stat: Stats): DetailedEntry["special"] {
  if (stat.isFIFO()) return "pipe";
  if (stat.isSocket()) return "socket";
  if (stat.isBlockDevice()) return "block device";
  return stat.isCharacterDevice() ? "character device" : undefined;
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
      const special = specialKindOf(stat);
      entries.push({
        fileName: name.toString("utf8"),
        ...describe(stat, stat.isSymbolicLink()),
        ...(special === undefined ? {} : { special }),
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

type Listed = Pick<Dirent, "isDirectory" | "isFile" | "isSymbolicLink"> & { readonly name: NativePath };

/**
 * Node reads names as text in a third of the time that it takes for bytes. Bytes are needed only for a link whose name
 * is not text.
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
