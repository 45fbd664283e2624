import { createHash } from "node:crypto";
import { basename, dirname } from "node:path";
import { aboutFile, FileError } from "../file-error.ts";
import { withRestarts } from "../restarts.ts";
import { type CheckedFile, matchingPrefix, RangeCheck } from "./range-check.ts";
import type { Destination, Hasher, Job, LargeFile, Source, Version } from "./sides.ts";
import { ChangedFileError, differs, type TreeCopy } from "./tree-copy.ts";

/** Beginning of the names of files that are continued by the next copy. */
const PART = ".exec-server-part-";
const OUT_OF_SPACE = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
/** How often in a row a range that differs is copied again. */
const MAX_DIFFERENCES = 3;

interface LargeCopyOptions {
  readonly operation: string;
  readonly copy: TreeCopy;
  readonly source: Source;
  readonly destination: Destination;
  readonly verifies: boolean;
  readonly resumes: boolean;
  readonly mode: number | undefined;
  readonly job: Job;
}

/** Copies a file block by block. Continues after a lost connection, unless the file has changed meanwhile. */
export class LargeCopy {
  readonly #options: LargeCopyOptions;
  #version: Version | undefined;
  #target: LargeFile | undefined;
  /** Names of the parts that this copy has made: one for each version of the source that it has met. */
  readonly #parts = new Set<string>();
  /** How many bytes at the beginning were compared, or written by this copy without an interruption. */
  #trusted = 0;
  /** Bytes that were there before this copy, and those that it has copied. */
  #kept = 0;
  #copied = 0;
  #hasBegun = false;
  #differences = 0;
  /** Where the source ended. */
  #reached = 0;

  constructor(options: LargeCopyOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      let farthest = -1;
      await withRestarts(async (progressed) => {
        const target = await this.#prepare(signal);
        for (let isComplete = false; !isComplete; ) {
          const start = await this.#startOf(target, signal);
          // Another attempt counts only if it begins where no other did.
          if (start > farthest) progressed();
          farthest = Math.max(farthest, start);
          isComplete = await this.#transfer(target, start, signal);
        }
      });
      await this.#checkUnchanged(signal);
      await this.#target!.finish(signal);
    } catch (error) {
      await this.#target?.abandon({ keepsPart: !isOutOfSpace(error) });
      if (await this.#isElsewhereDone(error, signal)) return;
      throw this.#target === undefined ? error : aboutFile(error, this.#target.path, this.#options.job.to);
    }
  }

  /** Which of these names, and of the parts that this copy has made, are not in use any more. */
  withoutUse(names: Iterable<string>): readonly string[] {
    return [...names, ...this.#parts].filter((name) => name !== this.#partName());
  }

  /** A new beginning if the source was changed. */
  async #prepare(signal: AbortSignal): Promise<LargeFile> {
    const { source, destination, job, mode } = this.#options;
    const current = await source.version(job.from, signal);
    const { size, modifiedMs } = this.#version ?? {};
    if (this.#target !== undefined && size === current.size && modifiedMs === current.modifiedMs)
      return this.#target;
    await this.#target?.abandon({ keepsPart: true });
    this.#version = current;
    this.#trusted = 0;
    const part = this.#partName();
    if (part !== undefined) this.#parts.add(part);
    this.#target = await destination.openLarge(job.to, { mode, part }, signal);
    return this.#target;
  }

  #partName(): string | undefined {
    const { resumes, job } = this.#options;
    if (!resumes || this.#version === undefined) return undefined;
    const { size, modifiedMs } = this.#version;
    return `${partPrefix(job.to)}${shortHash(`${size} ${modifiedMs}`)}`;
  }

  /** Where to go on: after what is there and the same as the source. */
  async #startOf(target: LargeFile, signal: AbortSignal): Promise<number> {
    const { resumes, job } = this.#options;
    const there = Math.min(await target.present(signal), this.#version!.size);
    if (!resumes || there <= this.#trusted) return there;
    const { source, destination } = this.#options;
    const files = [checked(source.hasher, job.from), checked(destination.hasher, target.path)] as const;
    return matchingPrefix(files, { start: this.#trusted, end: there }, signal);
  }

  /** False if a range differs; what is before it can be trusted. */
  async #transfer(target: LargeFile, start: number, signal: AbortSignal): Promise<boolean> {
    const { source, destination, job, verifies } = this.#options;
    const files = verifies
      ? [
          ...(source.isRemote ? [checked(source.hasher, job.from)] : []),
          ...(destination.isRemote ? [checked(destination.hasher, target.path)] : []),
        ]
      : [];
    const check = files.length === 0 ? undefined : new RangeCheck(files, signal);
    let reading: AsyncGenerator<Uint8Array, void, undefined> | undefined;
    const read = async (): Promise<AsyncIterable<Uint8Array>> => {
      await reading?.return();
      this.#begin(start);
      this.#reached = start;
      const blocks = this.#counted(source.blocks(job.from, start, signal));
      reading = check === undefined ? blocks : check.through(blocks, start);
      return following(await reading.next(), reading);
    };
    try {
      await target.write(start, read, signal);
    } finally {
      // A destination that fails before the first block leaves it open.
      await reading?.return();
    }
    const different = await check?.finish();
    if (different === undefined) return true;
    this.#trusted = different;
    this.#differences += 1;
    if (this.#differences === MAX_DIFFERENCES) throw differs(this.#options.operation, job.to);
    return false;
  }

  /** Another copy of the same file may have put the part in its place. */
  async #isElsewhereDone(error: unknown, signal: AbortSignal): Promise<boolean> {
    const { resumes, source, destination, job } = this.#options;
    if (!resumes || !(error instanceof FileError) || error.code !== "NOT_FOUND") return false;
    const range = { offset: 0, length: this.#version?.size ?? 0 };
    const hashes = [checked(source.hasher, job.from), checked(destination.hasher, job.to)].map(
      ({ hasher, path }) => hasher.hash(path, range, signal).catch(() => undefined),
    );
    const [sent, arrived] = await Promise.all(hashes);
    return sent !== undefined && sent === arrived;
  }

  /** What was added meanwhile, as to a log, is left to the next copy. Any other change would be half in this one. */
  async #checkUnchanged(signal: AbortSignal): Promise<void> {
    const { operation, source, job } = this.#options;
    const { size, modifiedMs } = this.#version!;
    const now = await source.version(job.from, signal);
    const hasGrown = now.size > size && this.#reached >= size;
    if (hasGrown || (now.size === size && now.modifiedMs === modifiedMs)) return;
    throw new ChangedFileError("OS_ERROR", `${operation} ${job.from}: it was changed while it was copied`, {
      path: job.from,
    });
  }

  #begin(start: number): void {
    const { copy, job } = this.#options;
    const kept = this.#hasBegun ? Math.min(this.#kept, start) : start;
    if (kept !== this.#kept) copy.keptBytes(kept - this.#kept, job.path);
    this.#kept = kept;
    this.#hasBegun = true;
    copy.copiedBytes(start - kept - this.#copied, job.path);
    this.#copied = start - kept;
  }

  async *#counted(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    const { copy, job } = this.#options;
    for await (const block of blocks) {
      yield block;
      this.#reached += block.length;
      this.#copied += block.length;
      copy.copiedBytes(block.length, job.path);
    }
  }
}

/** A part would hold the space that is needed to go on, or by somebody else. */
function isOutOfSpace(error: unknown): boolean {
  return error instanceof FileError && OUT_OF_SPACE.has(error.errno ?? "");
}

/** Removes what copies of earlier versions of the source have left behind. */
export async function removeParts(
  { to }: Job,
  names: Iterable<string>,
  destination: Destination,
  signal: AbortSignal,
): Promise<void> {
  const prefix = partPrefix(to);
  for (const name of names)
    if (name.startsWith(prefix)) await destination.remove(destination.child(dirname(to), name), signal);
}

/** Names of one file's parts begin with it. */
function partPrefix(path: string): string {
  return `${PART}${shortHash(basename(path))}-`;
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function checked(hasher: Hasher | undefined, path: string): CheckedFile {
  if (hasher === undefined) throw new Error("a side without hashes cannot be checked");
  return { hasher, path };
}

/** A block that was read before, and those after it. */
async function* following(
  first: IteratorResult<Uint8Array, void>,
  rest: AsyncIterator<Uint8Array, void, undefined>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
}
