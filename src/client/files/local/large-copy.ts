import { createHash } from "node:crypto";
import { basename, dirname } from "node:path";
import { PART } from "../blob-upload.ts";
import { aboutFile, FileError, isMissing } from "../file-error.ts";
import { withRestarts } from "../restarts.ts";
import { type CheckedFile, matchingPrefix, RangeCheck } from "./range-check.ts";
import type { Destination, Hasher, Job, LargeFile, Version } from "./sides.ts";
import { ChangedFileError, differs, type TreeCopy } from "./tree-copy.ts";

const OUT_OF_SPACE = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);
/** Maximum number of copies in a row of a range that differs. */
const MAX_DIFFERENCES = 3;

interface LargeCopyOptions {
  readonly verifies: boolean;
  readonly resumes: boolean;
  readonly mode: number | undefined;
}

/** Copies a file block by block. Continues after a lost connection, unless the file has changed meanwhile. */
export class LargeCopy {
  readonly #copy: TreeCopy;
  readonly #job: Job;
  readonly #options: LargeCopyOptions;
  #version: Version | undefined;
  #target: LargeFile | undefined;
  /** Names of the parts that this copy has made: one for each version of the source that it has met. */
  readonly #parts = new Set<string>();
  /** Number of bytes at the beginning that were compared, or written by this copy without an interruption. */
  #trusted = 0;
  /** Bytes that existed before this copy, and those that it has copied. */
  #kept = 0;
  #copied = 0;
  #hasBegun = false;
  #differences = 0;
  /** Offset at which the source ended. */
  #reached = 0;

  constructor(copy: TreeCopy, job: Job, options: LargeCopyOptions) {
    this.#copy = copy;
    this.#job = job;
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
      if (await this.#wasCopiedElsewhere(error, signal)) return;
      throw this.#target === undefined ? error : aboutFile(error, this.#target.path, this.#job.to);
    }
  }

  /** The names, of the given ones and of the parts that this copy has created, that are no longer in use. */
  withoutUse(names: Iterable<string>): readonly string[] {
    return [...names, ...this.#parts].filter((name) => name !== this.#partName());
  }

  /** A new beginning if the source was changed. */
  async #prepare(signal: AbortSignal): Promise<LargeFile> {
    const { source, destination } = this.#copy;
    const { mode } = this.#options;
    const current = await source.version(this.#job.from, signal);
    const { size, modifiedMs } = this.#version ?? {};
    if (this.#target !== undefined && size === current.size && modifiedMs === current.modifiedMs)
      return this.#target;
    await this.#target?.abandon({ keepsPart: true });
    this.#version = current;
    this.#trusted = 0;
    const part = this.#partName();
    if (part !== undefined) this.#parts.add(part);
    this.#target = await destination.openLarge(this.#job.to, { mode, part }, signal);
    return this.#target;
  }

  #partName(): string | undefined {
    if (!this.#options.resumes || this.#version === undefined) return undefined;
    const { size, modifiedMs } = this.#version;
    return `${partPrefix(this.#job.to)}${shortHash(`${size} ${modifiedMs}`)}`;
  }

  /** Offset at which to resume: after the bytes that match the source. */
  async #startOf(target: LargeFile, signal: AbortSignal): Promise<number> {
    const { source, destination } = this.#copy;
    const end = Math.min(await target.present(signal), this.#version!.size);
    if (!this.#options.resumes || end <= this.#trusted) return end;
    const files = [checked(source.hasher, this.#job.from), checked(destination.hasher, target.path)] as const;
    return matchingPrefix(files, { start: this.#trusted, end }, signal);
  }

  /** Returns false if a range differs; everything before it can be trusted. */
  async #transfer(target: LargeFile, start: number, signal: AbortSignal): Promise<boolean> {
    const { operation, source, destination } = this.#copy;
    const { from, to } = this.#job;
    const files = this.#options.verifies
      ? [
          ...(source.isRemote ? [checked(source.hasher, from)] : []),
          ...(destination.isRemote ? [checked(destination.hasher, target.path)] : []),
        ]
      : [];
    const check = files.length === 0 ? undefined : new RangeCheck(files, signal);
    let reading: AsyncGenerator<Uint8Array, void, undefined> | undefined;
    const read = async (): Promise<AsyncIterable<Uint8Array>> => {
      await reading?.return();
      this.#begin(start);
      this.#reached = start;
      const blocks = this.#counted(source.blocks(from, start, signal));
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
    if (this.#differences === MAX_DIFFERENCES) throw differs(operation, to);
    return false;
  }

  /** Another copy of the same file may have put the part in its place. */
  async #wasCopiedElsewhere(error: unknown, signal: AbortSignal): Promise<boolean> {
    const { source, destination } = this.#copy;
    const { from, to } = this.#job;
    if (!this.#options.resumes || !isMissing(error)) return false;
    const range = { offset: 0, length: this.#version?.size ?? 0 };
    const hashes = [checked(source.hasher, from), checked(destination.hasher, to)].map(({ hasher, path }) =>
      hasher.hash(path, range, signal).catch(() => undefined),
    );
    const [sent, arrived] = await Promise.all(hashes);
    return sent !== undefined && sent === arrived;
  }

  /**
   * What was appended meanwhile, as to a log, is left to the next copy. After any other change, this copy would be
   * inconsistent.
   */
  async #checkUnchanged(signal: AbortSignal): Promise<void> {
    const { operation, source } = this.#copy;
    const { from } = this.#job;
    const { size, modifiedMs } = this.#version!;
    const now = await source.version(from, signal);
    const hasGrown = now.size > size && this.#reached >= size;
    if (hasGrown || (now.size === size && now.modifiedMs === modifiedMs)) return;
    throw new ChangedFileError("OS_ERROR", `${operation} ${from}: it changed while it was being copied`, {
      path: from,
    });
  }

  #begin(start: number): void {
    const { path } = this.#job;
    const kept = this.#hasBegun ? Math.min(this.#kept, start) : start;
    if (kept !== this.#kept) this.#copy.keptBytes(kept - this.#kept, path);
    this.#kept = kept;
    this.#hasBegun = true;
    this.#copy.copiedBytes(start - kept - this.#copied, path);
    this.#copied = start - kept;
  }

  async *#counted(blocks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const block of blocks) {
      yield block;
      this.#reached += block.length;
      this.#copied += block.length;
      this.#copy.copiedBytes(block.length, this.#job.path);
    }
  }
}

/** A part would take up space that is needed to continue, or by other programs. */
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
