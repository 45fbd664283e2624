import { createHash } from "node:crypto";
import { LargeCopy, removeParts } from "./large-copy.ts";
import type { EntryInfo, Job, Seen } from "./sides.ts";
import { COPIED_MODE_BITS, differs, SMALL_FILE_BYTES, type TreeCopy } from "./tree-copy.ts";

/** Maximum number of copies of a small file whose hash differs: it may have changed in the meantime. */
const MAX_ATTEMPTS = 3;

/** Copies single files from one side to the other, and finds those that need not be copied. */
export class FileCopy {
  /** Whether files with the same contents are skipped, and large files resumed. */
  readonly resumes: boolean;
  /** Whether hashes of what was sent and what arrived are compared. */
  readonly verifies: boolean;
  /** Whether the destination's links must not be written through. */
  readonly replacesLinks: boolean;
  readonly #copy: TreeCopy;
  readonly #modes: boolean;

  constructor(copy: TreeCopy) {
    this.#copy = copy;
    const { source, destination } = copy;
    const { modes = true, resume = false, verify = false, remoteLinks = "follow" } = copy.options;
    const canHash = source.hasher !== undefined && destination.hasher !== undefined;
    this.#modes = modes && source.knowsModes && destination.knowsModes;
    this.resumes = resume && canHash;
    this.verifies = verify && canHash;
    this.replacesLinks = destination.isRemote && remoteLinks === "replace";
  }

  /** The mode that a copy gets; undefined leaves it to the destination. */
  modeOf({ mode }: EntryInfo): number | undefined {
    return this.#modes && mode !== undefined ? mode & COPIED_MODE_BITS : undefined;
  }

  /** The mode that something which stays must get; undefined if it has it. */
  missingMode(info: EntryInfo, existing: EntryInfo): number | undefined {
    const mode = this.modeOf(info);
    return existing.mode === undefined || (existing.mode & COPIED_MODE_BITS) === mode ? undefined : mode;
  }

  /** Whether the destination has a file with the same contents. */
  async hasSameContents({ from, to, info }: Job, existing: EntryInfo, signal: AbortSignal): Promise<boolean> {
    if (!this.resumes || existing.kind !== "file" || existing.size !== info.size) return false;
    const range = isLarge(info) ? { offset: 0, length: info.size } : undefined;
    const [sent, arrived] = await Promise.all([
      this.#copy.source.hasher?.hash(from, range, signal),
      this.#copy.destination.hasher?.hash(to, range, signal),
    ]);
    return sent !== undefined && sent === arrived;
  }

  /** Copies a file, whatever is there. */
  async run(job: Job, seen: Seen | undefined, signal: AbortSignal): Promise<void> {
    if (this.#modes) this.#copy.keepsMode(job.info.mode, job.path);
    let names: readonly string[] = [...(seen?.keys() ?? [])];
    if (isLarge(job.info) || !(await this.#small(job, signal)))
      await this.#copy.largeFile(signal, async () => {
        names = (await this.#large(job, signal)).withoutUse(names);
      });
    if (this.resumes) await removeParts(job, names, this.#copy.destination, signal);
  }

  /** False if it has become a large file. */
  async #small(job: Job, signal: AbortSignal): Promise<boolean> {
    const { operation, source, destination } = this.#copy;
    for (let attempt = 1; ; attempt += 1) {
      const read = await source.readSmall(job.from, job.info.size, signal);
      if (read === undefined) return false;
      const { bytes } = read;
      await destination.writeSmall(job.to, bytes, this.modeOf(job.info), signal);
      const isSame = !this.verifies || (await this.#isSame(bytes, job, signal));
      read.release?.();
      if (isSame) {
        this.#copy.copiedBytes(bytes.length, job.path);
        return true;
      }
      if (attempt === MAX_ATTEMPTS) throw differs(operation, job.to);
    }
  }

  /** Compares bytes with what the servers have. */
  async #isSame(bytes: Uint8Array, { from, to }: Job, signal: AbortSignal): Promise<boolean> {
    const { source, destination } = this.#copy;
    const expected = createHash("sha256").update(bytes).digest("hex");
    const hashes = await Promise.all([
      source.isRemote ? source.hasher?.hash(from, undefined, signal) : expected,
      destination.isRemote ? destination.hasher?.hash(to, undefined, signal) : expected,
    ]);
    return hashes.every((hash) => hash === expected);
  }

  async #large(job: Job, signal: AbortSignal): Promise<LargeCopy> {
    const large = new LargeCopy(this.#copy, job, {
      verifies: this.verifies,
      resumes: this.resumes && this.#copy.destination.keepsParts,
      mode: this.modeOf(job.info),
    });
    await large.run(signal);
    return large;
  }
}

function isLarge({ size }: EntryInfo): boolean {
  return size > SMALL_FILE_BYTES;
}
