import { stat } from "node:fs/promises";
import { basename, dirname, join, posix, resolve } from "node:path";
import { FileError } from "../../../client/files/file-error.ts";
import type { Files } from "../../../client/files/files.ts";
import { describeFileError } from "../../shared/describe-file-error.ts";
import { Failure, usageFailure } from "../outcome/failure.ts";
import { pathFailure } from "../outcome/path-failure.ts";
import type { Connected } from "../target/connect-target.ts";
import { absolutePath, isRemotePath, type RemotePath } from "../target/remote-path.ts";

/** One end of a copy, as it was typed. */
export interface CopyLocation {
  /** For messages. */
  readonly text: string;
  /** The path as it was typed. */
  readonly typed: string;
  /** Undefined for a path of this machine. */
  readonly files: Files | undefined;
  /** Absolute on a server. */
  readonly path: string;
  /** What comes before a path of its machine in messages. */
  readonly prefix: string;
}

/** What there is at a location; undefined if nothing is. */
export type LocationKind = "file" | "directory" | "other" | undefined;

/** Parts of the command line that name locations. */
export function checkTexts(texts: readonly string[]): void {
  for (const text of texts)
    if (text === "") throw usageFailure("a path is empty; write . for this directory");
  if (!texts.some(isRemotePath))
    throw usageFailure(
      "both paths are on this machine; write :PATH for one on the server, or HOST:PATH for one on a host",
    );
}

/** A location on a server. */
export function remoteLocation(text: string, path: RemotePath, connected: Connected): CopyLocation {
  const prefix = `${path.host ?? ""}:`;
  const { path: typed } = path;
  return {
    text,
    typed,
    files: connected.host.files,
    path: keepSlash(typed, absolutePath(connected, path)),
    prefix,
  };
}

/** A location on this machine. */
export function localLocation(text: string): CopyLocation {
  return { text, typed: text, files: undefined, path: text, prefix: "" };
}

function keepSlash(typed: string, path: string): string {
  return typed.endsWith("/") && !path.endsWith("/") ? `${path}/` : path;
}

/** Follows links. */
export async function kindAt({ files, path, text }: CopyLocation): Promise<LocationKind> {
  try {
    if (files !== undefined) return (await files.stat(path)).kind;
    const found = await stat(path);
    return found.isDirectory() ? "directory" : found.isFile() ? "file" : "other";
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw locationFailure(error, text);
  }
}

/** One line about a path that was refused by either machine; other errors stay unchanged. */
export function locationFailure(error: unknown, text: string): unknown {
  const isLocal = (error as NodeJS.ErrnoException).syscall !== undefined;
  return isLocal ? new Failure(`${text}: ${describeFileError(error)}`) : (pathFailure(error, text) ?? error);
}

/** Whether an error of either machine says that there is nothing. */
export function isMissing(error: unknown): boolean {
  const { code, errno } = error as { code?: string; errno?: unknown };
  if (error instanceof FileError) return code === "NOT_FOUND" || errno === "ENOENT";
  return code === "ENOENT";
}

/** Where a copy goes. */
export interface Landing {
  readonly target: CopyLocation;
  /** Nothing was there. */
  readonly isNew: boolean;
}

/**
 * Where a copy goes, by the rules of `cp -r`: into a directory that exists, under the name of the source; otherwise to
 * the path itself, whose directory must exist.
 */
export async function landingOf(
  source: CopyLocation,
  sourceKind: "file" | "directory",
  destination: CopyLocation,
): Promise<Landing> {
  const kind = await kindAt(destination);
  if (kind === "directory") {
    const name = nameOf(source);
    // `d/.` means what is in the directory.
    const target = name === undefined ? destination : childOf(destination, name);
    return { target, isNew: false };
  }
  const { text, path } = destination;
  if (kind !== undefined) {
    if (sourceKind === "directory" || path.endsWith("/"))
      throw new Failure(`${text}: it is not a directory; remove it first, or choose another name`);
    return { target: destination, isNew: false };
  }
  if (sourceKind === "file" && path.endsWith("/"))
    throw new Failure(`${text}: no such directory; create it first, or leave out the slash to name the copy`);
  const directory = at(destination, parentOf(destination));
  if ((await kindAt(directory)) !== "directory")
    throw new Failure(`${directory.prefix}${directory.path}: no such directory; create it first`);
  return { target: destination, isNew: true };
}

/** A name in a directory. */
export function childOf(directory: CopyLocation, name: string): CopyLocation {
  const { files, path } = directory;
  return at(directory, files === undefined ? join(path, name) : posix.join(path, name));
}

/** Another name in the same directory. */
export function siblingOf(location: CopyLocation, name: string): CopyLocation {
  return childOf(at(location, parentOf(location)), name);
}

/** The name under which a source is put into a directory; undefined if its contents are meant. */
function nameOf({ files, path, typed }: CopyLocation): string | undefined {
  const last = typed.split("/").findLast((name) => name !== "");
  if (last === "." || last === "..") return undefined;
  const name = files === undefined ? basename(path) : posix.basename(path);
  return name === "" ? undefined : name;
}

function parentOf({ files, path }: CopyLocation): string {
  return files === undefined ? dirname(resolve(path)) : posix.dirname(path);
}

function at(location: CopyLocation, path: string): CopyLocation {
  return { ...location, path };
}
