import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { type BytePath, fromDisk, joinPath, onDisk, parentOf, toText } from "./byte-path.ts";
import { namesIn } from "./tree-snapshot.ts";

// A model of the wire's file methods, in Node's simplest functions, for trees that nothing else changes.

const NOT_FOUND = -32004;
const INVALID = -32600;
const FAILED = -32603;

class ModelError extends Error {
  readonly code: number;

  constructor(code: number, why: string) {
    super(why);
    this.code = code;
  }
}

export function codeOf(error: unknown): number {
  if (error instanceof ModelError) return error.code;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  if (code === "ENOENT") return NOT_FOUND;
  return code === "EACCES" || code === "EPERM" ? INVALID : FAILED;
}

const lstat = (path: BytePath) => lstatSync(onDisk(path));
const stat = (path: BytePath) => statSync(onDisk(path));

export function canonicalize(path: BytePath): BytePath {
  return fromDisk(realpathSync.native(onDisk(path), { encoding: "buffer" }));
}

export interface Metadata {
  isDirectory: boolean;
  isFile: boolean;
  isSymlink: boolean;
  size: number;
  modifiedAtMs: number;
}

export function getMetadata(path: BytePath, followSymlinks: boolean): Metadata {
  if (!followSymlinks) refuseLinks(path);
  const found = stat(path);
  return {
    isDirectory: found.isDirectory(),
    isFile: found.isFile(),
    isSymlink: lstat(path).isSymbolicLink(),
    size: found.size,
    modifiedAtMs: Math.floor(found.mtimeMs),
  };
}

function refuseLinks(path: BytePath): void {
  refuseLinksOnTheWay(path);
  if (lstat(path).isSymbolicLink()) throw new ModelError(INVALID, "a link");
}

function refuseLinksOnTheWay(path: BytePath): void {
  const parent = parentOf(path);
  if (parent === "/") return;
  refuseLinksOnTheWay(parent);
  if (!lstat(parent).isDirectory()) throw new ModelError(FAILED, "not a directory");
}

export interface DirectoryEntry {
  fileName: string;
  isDirectory: boolean;
  isFile: boolean;
}

export function readDirectory(path: BytePath): DirectoryEntry[] {
  return namesIn(path).flatMap((name) => {
    try {
      const found = stat(joinPath(path, name));
      return [{ fileName: toText(name), isDirectory: found.isDirectory(), isFile: found.isFile() }];
    } catch {
      return [];
    }
  });
}

export interface WalkOptions {
  maxDepth: number;
  maxDirectories: number;
  maxEntries: number;
  followDirectorySymlinks: boolean;
  pruneHiddenDirectories: boolean;
}

export interface WalkResult {
  entries: { path: BytePath; kind: "directory" | "file" }[];
  truncated: boolean;
}

export function walk(root: BytePath, options: WalkOptions): WalkResult {
  const result: WalkResult = { entries: [], truncated: false };
  const target = stat(root);
  const entered = options.followDirectorySymlinks ? target : lstat(root);
  if (!entered.isDirectory()) return result;
  const seen = new Set([canonicalize(root)]);
  const queue = [{ directory: root, depth: 0 }];
  let directories = 1;
  let examined = 0;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const name of namesIn(next.directory)) {
      const path = joinPath(next.directory, name);
      // Links that lead nowhere are passed over as in a listing; all else counts, listed or not.
      if (existing(path) === undefined) continue;
      if (examined === options.maxEntries) return { ...result, truncated: true };
      examined += 1;
      const kind = kindOf(path, options.followDirectorySymlinks);
      if (kind === undefined) continue;
      result.entries.push({ path, kind });
      const pruned = options.pruneHiddenDirectories && name.startsWith(".");
      if (kind === "file" || pruned || next.depth === options.maxDepth) continue;
      if (options.followDirectorySymlinks && seen.has(canonicalize(path))) continue;
      if (directories === options.maxDirectories) {
        result.truncated = true;
        continue;
      }
      seen.add(canonicalize(path));
      directories += 1;
      queue.push({ directory: path, depth: next.depth + 1 });
    }
  }
  return result;
}

function kindOf(path: BytePath, followDirectorySymlinks: boolean): "directory" | "file" | undefined {
  const own = lstat(path);
  if (own.isDirectory()) return "directory";
  if (own.isFile()) return "file";
  if (!own.isSymbolicLink() || !followDirectorySymlinks) return undefined;
  return existing(path)?.isDirectory() === true ? "directory" : undefined;
}

function existing(path: BytePath) {
  try {
    return stat(path);
  } catch {
    return undefined;
  }
}

export interface RemoveOptions {
  recursive: boolean;
  force: boolean;
  followSymlinks: boolean;
}

export function remove(path: BytePath, { recursive, force, followSymlinks }: RemoveOptions): void {
  if (!followSymlinks && recursive) throw new ModelError(FAILED, "unsupported");
  try {
    if (!followSymlinks) refuseLinks(path);
    if (!lstat(path).isDirectory()) unlinkSync(onDisk(path));
    else if (recursive) rmSync(onDisk(path), { recursive: true });
    else rmdirSync(onDisk(path));
  } catch (error) {
    if (!force || codeOf(error) !== NOT_FOUND) throw error;
  }
}

/** Throws when a copy is refused before anything is done. */
export function checkCopy(source: BytePath, destination: BytePath, recursive: boolean): void {
  const own = lstat(source);
  if (own.isDirectory() && !recursive) throw new ModelError(INVALID, "not recursive");
  if (own.isDirectory() && isWithin(futurePath(destination), canonicalize(source)))
    throw new ModelError(INVALID, "into itself");
  if (!own.isDirectory() && !own.isFile() && !own.isSymbolicLink()) throw new ModelError(INVALID, "special");
}

/**
 * Copies everything that can be copied and returns the code of each failure. A server stops at one of them; which one
 * depends on the order in which it reads directories.
 */
export function copy(source: BytePath, destination: BytePath): Set<number> {
  const failures = new Set<number>();
  copyEntry(source, destination, failures);
  return failures;
}

export const isWithin = (path: BytePath, directory: BytePath): boolean =>
  path === directory || path.startsWith(`${directory}/`);

/** Where a path will lead once it exists. */
function futurePath(path: BytePath): BytePath {
  try {
    return canonicalize(path);
  } catch {
    const parent = parentOf(path);
    return joinPath(futurePath(parent), path.slice(parent.length).replace(/^\//, ""));
  }
}

function copyEntry(source: BytePath, destination: BytePath, failures: Set<number>): void {
  try {
    const own = lstat(source);
    if (own.isSymbolicLink()) {
      symlinkSync(readlinkSync(onDisk(source), { encoding: "buffer" }), onDisk(destination));
    } else if (own.isFile()) copyFile(source, destination);
    else if (own.isDirectory()) {
      makeDirectories(destination);
      for (const name of readdirSync(onDisk(source), { encoding: "buffer" }).map((name) => fromDisk(name)))
        copyEntry(joinPath(source, name), joinPath(destination, name), failures);
    }
  } catch (error) {
    failures.add(codeOf(error));
  }
}

function copyFile(source: BytePath, destination: BytePath): void {
  const { O_CREAT, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;
  const bytes = readFileSync(onDisk(source));
  const { mode } = lstat(source);
  const fd = openSync(onDisk(destination), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, mode & 0o7777);
  try {
    if (bytes.length > 0) writeSync(fd, bytes);
    if (fstatSync(fd).isFile()) fchmodSync(fd, mode & 0o7777);
  } finally {
    closeSync(fd);
  }
}

function makeDirectories(path: BytePath): void {
  try {
    mkdirSync(onDisk(path));
  } catch (error) {
    if (existing(path)?.isDirectory() === true) return;
    if (codeOf(error) !== NOT_FOUND) throw error;
    makeDirectories(parentOf(path));
    mkdirSync(onDisk(path));
  }
}
