import { createHash } from "node:crypto";
import type { Hasher, HashRange } from "./sides.ts";

/** Files are compared in ranges of this size, so that hashing takes place while the next range is on its way. */
const RANGE_BYTES = 4 * 1024 * 1024;

interface Range extends HashRange {
  readonly sha256: string;
}

/** A file on a server, whose ranges are compared with the bytes copied here. */
export interface CheckedFile {
  readonly hasher: Hasher;
  readonly path: string;
}

/**
 * Hashes a file while it passes, and compares each range with what the servers have. A range is compared when the next
 * one has passed: until then some of it may not have been written.
 */
export class RangeCheck {
  readonly #files: readonly CheckedFile[];
  readonly #signal: AbortSignal;
  #passed: Range | undefined;
  #comparing: Promise<void> = Promise.resolve();
  readonly #different: Range[] = [];

  constructor(files: readonly CheckedFile[], signal: AbortSignal) {
    this.#files = files;
    this.#signal = signal;
  }

  /** The same blocks. `start` is the offset of the first. */
  async *through(
    blocks: AsyncIterable<Uint8Array>,
    start: number,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    let offset = start;
    let length = 0;
    let hash = createHash("sha256");
    for await (const block of blocks) {
      hash.update(block);
      length += block.length;
      yield block;
      if (length < RANGE_BYTES) continue;
      await this.#pass({ offset, length, sha256: hash.digest("hex") });
      offset += length;
      length = 0;
      hash = createHash("sha256");
    }
    if (length > 0) await this.#pass({ offset, length, sha256: hash.digest("hex") });
  }

  /** When everything was written: undefined if all is the same, otherwise the offset of the first difference. */
  async finish(): Promise<number | undefined> {
    await this.#comparing;
    if (this.#passed !== undefined) this.#different.push(this.#passed);
    this.#passed = undefined;
    // A server that runs requests side by side may have hashed a range before it was written.
    for (const range of this.#different) if (!(await this.#isSame(range))) return range.offset;
    return undefined;
  }

  async #pass(range: Range): Promise<void> {
    const previous = this.#passed;
    this.#passed = range;
    await this.#comparing;
    if (previous === undefined) return;
    this.#comparing = this.#isSame(previous).then((isSame) => {
      if (!isSame) this.#different.push(previous);
    });
    this.#comparing.catch(() => {}); // Reported when the next range has passed.
  }

  async #isSame({ offset, length, sha256 }: Range): Promise<boolean> {
    const hashes = await Promise.all(
      this.#files.map(({ hasher, path }) => hasher.hash(path, { offset, length }, this.#signal)),
    );
    return hashes.every((hash) => hash === sha256);
  }
}

/** Number of matching bytes of two files, from `start`, where they match, up to `end`. */
export async function matchingPrefix(
  files: readonly [CheckedFile, CheckedFile],
  { start, end }: { start: number; end: number },
  signal: AbortSignal,
): Promise<number> {
  const AT_ONCE = 4;
  for (let offset = start; offset < end; ) {
    const ranges: HashRange[] = [];
    for (let next = offset; next < end && ranges.length < AT_ONCE; next += RANGE_BYTES)
      ranges.push({ offset: next, length: Math.min(RANGE_BYTES, end - next) });
    const same = await Promise.all(
      ranges.map(async (range) => {
        const [one, other] = await Promise.all(
          files.map(({ hasher, path }) => hasher.hash(path, range, signal)),
        );
        return one !== undefined && one === other;
      }),
    );
    const different = same.indexOf(false);
    if (different >= 0) return ranges[different]!.offset;
    offset += ranges.reduce((sum, { length }) => sum + length, 0);
  }
  return end;
}
