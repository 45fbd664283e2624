import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, posix, resolve } from "node:path";
import { FileError } from "../../../client/files/file-error.ts";
import type { Files } from "../../../client/files/files.ts";
import { describeFileError, Failure, usageFailure } from "../../shared/failure.ts";
import { pathFailure } from "../outcome/path-failure.ts";
import type { Connected } from "../target/connect-target.ts";
import { absolutePath, isRemotePath, type RemotePath } from "../target/remote-path.ts";

/** One end of a copy, as typed. */
export interface CopyLocation {
  /** For messages. */
  readonly text: string;
  /** The path as it was typed. */
  readonly typed: string;
  /** Undefined for a path of this machine. */
  readonly files: Files | undefined;
  /** Absolute on a server. */
  readonly path: string;
  /** Prefix of its machine's paths in messages. */
  readonly prefix: string;
}

type LocationKind = "file" | "directory" | "other";

/** The entry at a location. */
export interface LocationStat {
  readonly kind: LocationKind;
  readonly size: number;
}

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
  const { path: typed, host = "" } = path;
  const absolute = absolutePath(connected, path);
  const lostTrailingSlash = typed.endsWith("/") && !absolute.endsWith("/");
  return {
    text,
    typed,
    files: connected.host.files,
    path: lostTrailingSlash ? `${absolute}/` : absolute,
    prefix: `${host}:`,
  };
}

/** A location on this machine. */
export function localLocation(text: string): CopyLocation {
  return { text, typed: text, files: undefined, path: text, prefix: "" };
}

/** Undefined if nothing is there. Follows links. */
export async function kindAt(location: CopyLocation): Promise<LocationKind | undefined> {
  try {
    return (await statAt(location)).kind;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw locationFailure(error, location.text);
  }
}

/** Follows links. */
export async function statAt({ files, path }: CopyLocation): Promise<LocationStat> {
  return files === undefined ? describeStats(await stat(path)) : await files.stat(path);
}

export function describeStats(stats: Stats): LocationStat {
  const kind = stats.isDirectory() ? "directory" : stats.isFile() ? "file" : "other";
  return { kind, size: stats.size };
}

/** One line about a path that either machine refused; other errors stay unchanged. */
export function locationFailure(error: unknown, text: string): unknown {
  const isLocal = (error as NodeJS.ErrnoException).syscall !== undefined;
  return isLocal ? new Failure(`${text}: ${describeFileError(error)}`) : (pathFailure(error, text) ?? error);
}

/** Whether an error of either machine means that the path does not exist. */
export function isMissing(error: unknown): boolean {
  const { code, errno } = error as { code?: string; errno?: unknown };
  if (error instanceof FileError) return code === "NOT_FOUND" || errno === "ENOENT";
  return code === "ENOENT";
}

/**
 * Destination of a copy, by the rules of `cp -r`: into an existing directory, under the name of the source; otherwise
 * the path itself, whose directory must exist. It is new if nothing existed there.
 */
export async function landingOf(
  source: CopyLocation,
  sourceKind: "file" | "directory",
  destination: CopyLocation,
): Promise<{ readonly target: CopyLocation; readonly isNew: boolean }> {
  const kind = await kindAt(destination);
  if (kind === "directory") {
    const name = nameOf(source);
    // `d/.` means the directory's contents.
    const target = name === undefined ? destination : childOf(destination, name);
    return { target, isNew: false };
  }
  const { text, path } = destination;
  if (kind !== undefined) {
    if (sourceKind === "directory" || path.endsWith("/"))
      throw new Failure(`${text}: not a directory; remove it first, or choose another name`);
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
