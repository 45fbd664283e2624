import { UsageError } from "../../../base/errors.ts";
import { BLOCK_BYTES } from "../file-blocks.ts";
import { FileError, fileError } from "../file-error.ts";
import type { TreeEntry, TreeOptions, TreeProgress, TreeResult } from "../trees.ts";
import type { Destination, Entry, Source } from "./sides.ts";
import { runTasks, type Task } from "./task-stack.ts";

const DEFAULT_CONCURRENCY = 8;
const MAX_CONCURRENCY = 64;
/** Maximum number of large files at a time. Each keeps several blocks in memory, and a connection busy on its own. */
const LARGE_FILES_AT_ONCE = 2;
/** Larger files are copied block by block. */
export const SMALL_FILE_BYTES = BLOCK_BYTES;
/** Set-user-ID and similar bits grant rights that the original's owner has only on the other machine. */
export const COPIED_MODE_BITS = 0o777;
const SET_ID_BITS = 0o6000;

/** The counters of a copy. */
type Progress = Omit<TreeProgress, "path">;
type Counts = { -readonly [Count in keyof Progress]: Progress[Count] };

/** One copy of a tree: its two sides and options, what has been copied, and what is left for the end. */
export class TreeCopy {
  /** Its name in errors. */
  readonly operation: string;
  readonly source: Source;
  readonly destination: Destination;
  readonly symlinks: "keep" | "follow" | "skip";
  readonly options: TreeOptions;
  /** Aborted by the caller. */
  readonly signal: AbortSignal;
  readonly #concurrency: number;
  readonly #counts: Counts;
  readonly #skipped: string[] = [];
  #withoutSetId: TreeResult["withoutSetId"];
  readonly #lanes = Array.from({ length: LARGE_FILES_AT_ONCE }, () => Promise.resolve());
  #largeFiles = 0;
  /** Created when all files are there, so that nothing can be written through a link. */
  readonly #links: Task[] = [];
  readonly #deletions: Task[] = [];
  /** By depth. A directory's mode may forbid filling it, so it is set at the end, after its contents. */
  readonly #directoryModes: Task[][] = [];

  constructor(operation: string, source: Source, destination: Destination, options: TreeOptions) {
    const { symlinks = "keep", concurrency = DEFAULT_CONCURRENCY, remoteLinks = "follow" } = options;
    if (!["keep", "follow", "skip"].includes(symlinks))
      throw new UsageError("symlinks must be keep, follow or skip");
    if (!["follow", "replace"].includes(remoteLinks))
      throw new UsageError("remoteLinks must be follow or replace");
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY)
      throw new UsageError(`concurrency must be a whole number from 1 to ${MAX_CONCURRENCY}`);
    this.operation = operation;
    this.source = source;
    this.destination = destination;
    this.symlinks = symlinks;
    this.options = options;
    this.signal = options.signal ?? new AbortController().signal;
    this.#concurrency = concurrency;
    this.#counts = {
      files: 0,
      directories: 0,
      links: 0,
      bytes: 0,
      ...(options.resume && { keptBytes: 0 }),
      ...(options.mirror && { same: 0, deleted: 0 }),
    };
  }

  /**
   * Runs a task and everything it pushes, then creates the links, then deletes what the source lacks, then sets the
   * modes of directories. `verifies` is whether hashes are compared.
   */
  async run(first: Task, { verifies }: { readonly verifies: boolean }): Promise<TreeResult> {
    await this.#runAll([first]);
    await this.#runAll(this.#links);
    await this.#runAll(this.#deletions);
    for (const level of this.#directoryModes.reverse()) await this.#runAll(level ?? []);
    return {
      ...this.#counts,
      skipped: this.#skipped,
      ...(this.#withoutSetId && { withoutSetId: this.#withoutSetId }),
      ...(this.options.verify === true && { verified: verifies }),
    };
  }

  async #runAll(tasks: readonly Task[]): Promise<void> {
    this.signal.throwIfAborted();
    await runTasks(tasks, { concurrency: this.#concurrency, signal: this.signal });
  }

  /** An entry of a directory, on both sides. */
  child({ from, to, path }: Entry, name: string): Entry {
    return {
      from: this.source.child(from, name),
      to: this.destination.child(to, name),
      path: joinRelative(path, name),
    };
  }

  /** Text of a link of the source. */
  readLink(path: string, signal: AbortSignal): Promise<string> {
    if (this.source.knowsLinks && this.destination.knowsLinks) return this.source.readLink(path, signal);
    const reason = 'this server does not support symbolic links; copy with symlinks: "follow" or "skip"';
    throw fileError("UNSUPPORTED", this.operation, path, reason);
  }

  /** Whether an entry should be copied. */
  async takes(entry: TreeEntry): Promise<boolean> {
    if (this.options.filter !== undefined && !(await this.options.filter(entry))) return false;
    if (entry.kind === "other") this.#skipped.push(entry.path);
    return entry.kind !== "other";
  }

  /** Copies a file block by block, when its turn comes. */
  async largeFile(signal: AbortSignal, copy: () => Promise<void>): Promise<void> {
    const lane = this.#largeFiles % this.#lanes.length;
    this.#largeFiles += 1;
    const copied = this.#lanes[lane]!.then(() => {
      signal.throwIfAborted();
      return copy();
    });
    this.#lanes[lane] = copied.catch(() => {}); // The error goes to its own caller.
    await copied;
  }

  /** Runs a task for one entry. Without `onError` its failure is the failure of everything. */
  async attempt(path: string, work: () => Promise<void>): Promise<void> {
    const { onError } = this.options;
    try {
      await work();
    } catch (error) {
      if (onError === undefined || !(error instanceof FileError)) throw error;
      onError(error, path);
    }
  }

  linkLater(target: string, { to, path }: Entry): void {
    this.#links.push((_, signal) =>
      this.attempt(path, async () => {
        await this.destination.link(target, to, signal);
        this.copied("links", path);
      }),
    );
  }

  deleteLater(path: string, remove: (signal: AbortSignal) => Promise<void>): void {
    this.#deletions.push((_, signal) => this.attempt(path, () => remove(signal)));
  }

  /** The mode of a directory when everything in it is copied. */
  setModeLater({ to, path }: Pick<Entry, "to" | "path">, mode: number): void {
    const depth = path === "" ? 0 : path.split("/").length;
    (this.#directoryModes[depth] ??= []).push((_, signal) =>
      this.attempt(path, () => this.destination.setMode(to, "directory", mode, signal)),
    );
  }

  /** A copy gets the permissions of an original with this mode. */
  keepsMode(mode: number | undefined, path: string): void {
    if (((mode ?? 0) & SET_ID_BITS) === 0) return;
    const { count, first } = this.#withoutSetId ?? { count: 0, first: path };
    this.#withoutSetId = { count: count + 1, first };
  }

  copied(what: "files" | "directories" | "links" | "same" | "deleted", path: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1;
    this.#report(path);
  }

  /** A negative number for bytes that have to be copied again. */
  copiedBytes(bytes: number, path: string): void {
    this.#counts.bytes += bytes;
    if (bytes > 0) this.#report(path);
  }

  /** Bytes that were there already; a negative number if they turned out to be wrong. */
  keptBytes(bytes: number, path: string): void {
    this.#counts.keptBytes = (this.#counts.keptBytes ?? 0) + bytes;
    if (bytes > 0) this.#report(path);
  }

  #report(path: string): void {
    this.options.onProgress?.({ ...this.#counts, path });
  }
}

/** A name in a directory of the other machine. */
export function joinRemote(directory: string, name: string): string {
  return directory.endsWith("/") ? `${directory}${name}` : `${directory}/${name}`;
}

/** The same in the relative paths that callers see. */
export function joinRelative(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}

/** A link of the destination in the place of a directory. */
export function linkInTheWay(operation: string, path: string): FileError {
  const reason = "it is a symbolic link, which is not followed";
  return fileError("INVALID_INPUT", operation, path, reason, "ENOTDIR");
}

/** A file was, or may have been, changed while it was copied, so another attempt can help. */
export class ChangedFileError extends FileError {}

/** The copy does not match what was sent, or the source changed in the meantime. */
export function differs(operation: string, path: string): FileError {
  return new ChangedFileError(
    "OS_ERROR",
    `${operation} ${path}: the copy's hash differs: either the source is being changed, or the copy was damaged in transit`,
    { path },
  );
}

/** The error if something else is in place of a directory. */
export function notADirectory(operation: string, path: string): FileError {
  return fileError("INVALID_INPUT", operation, path, "it is not a directory", "ENOTDIR");
}
