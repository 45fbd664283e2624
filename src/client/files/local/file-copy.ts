import { createHash } from "node:crypto";
import { LargeCopy, removeParts } from "./large-copy.ts";
import type { Destination, Found, Job, Seen, Source } from "./sides.ts";
import { COPIED_MODE_BITS, differs, SMALL_FILE_BYTES, type TreeCopy } from "./tree-copy.ts";

/** How often a small file is copied again because its hash differs: it may have been changed meanwhile. */
const MAX_ATTEMPTS = 3;

/** Copies single files from one side to the other, and finds those that need no copy. */
export class FileCopy {
  /** Files with the same contents are left alone, and large files continued. */
  readonly resumes: boolean;
  /** Compares hashes of what was sent and what arrived. */
  readonly verifies: boolean;
  /** Nothing may be written through a link of the destination. */
  readonly replacesLinks: boolean;
  readonly #operation: string;
  readonly #copy: TreeCopy;
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #modes: boolean;

  constructor(operation: string, copy: TreeCopy, source: Source, destination: Destination) {
    this.#operation = operation;
    this.#copy = copy;
    this.#source = source;
    this.#destination = destination;
    const { modes = true, resume = false, verify = false, remoteLinks = "follow" } = copy.options;
    const canHash = source.hasher !== undefined && destination.hasher !== undefined;
    this.#modes = modes && source.knowsModes && destination.knowsModes;
    this.resumes = resume && canHash;
    this.verifies = verify && canHash;
    this.replacesLinks = destination.isRemote && remoteLinks === "replace";
  }

  /** The mode that a copy gets; undefined leaves it to the destination. */
  modeOf({ mode }: Found): number | undefined {
    return this.#modes && mode !== undefined ? mode & COPIED_MODE_BITS : undefined;
  }

  /** The mode that something which stays must get; undefined if it has it. */
  missingMode(found: Found, there: Found): number | undefined {
    const mode = this.modeOf(found);
    return there.mode === undefined || (there.mode & COPIED_MODE_BITS) === mode ? undefined : mode;
  }

  /** Whether the destination has a file with the same contents. */
  async isThere({ from, to, found }: Job, there: Found, signal: AbortSignal): Promise<boolean> {
    if (!this.resumes || there.kind !== "file" || there.size !== found.size) return false;
    const range = isLarge(found) ? { offset: 0, length: found.size } : undefined;
    const [sent, arrived] = await Promise.all([
      this.#source.hasher?.hash(from, range, signal),
      this.#destination.hasher?.hash(to, range, signal),
    ]);
    return sent !== undefined && sent === arrived;
  }

  /** Copies a file, whatever is there. */
  async run(job: Job, seen: Seen | undefined, signal: AbortSignal): Promise<void> {
    if (this.#modes) this.#copy.keepsMode(job.found.mode, job.path);
    let names: readonly string[] = [...(seen?.keys() ?? [])];
    if (isLarge(job.found) || !(await this.#small(job, signal)))
      await this.#copy.largeFile(signal, async () => {
        names = (await this.#large(job, signal)).withoutUse(names);
      });
    if (this.resumes) await removeParts(job, names, this.#destination, signal);
  }

  /** False if it has become a large file. */
  async #small(job: Job, signal: AbortSignal): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      const read = await this.#source.readSmall(job.from, job.found.size, signal);
      if (read === undefined) return false;
      const { bytes } = read;
      await this.#destination.writeSmall(job.to, bytes, this.modeOf(job.found), signal);
      const isSame = !this.verifies || (await this.#isSame(bytes, job, signal));
      read.release?.();
      if (isSame) {
        this.#copy.copiedBytes(bytes.length, job.path);
        return true;
      }
      if (attempt === MAX_ATTEMPTS) throw differs(this.#operation, job.to);
    }
  }

  /** Compares bytes with what the servers have. */
  async #isSame(bytes: Uint8Array, { from, to }: Job, signal: AbortSignal): Promise<boolean> {
    const expected = createHash("sha256").update(bytes).digest("hex");
    const hashes = await Promise.all([
      this.#source.isRemote ? this.#source.hasher?.hash(from, undefined, signal) : expected,
      this.#destination.isRemote ? this.#destination.hasher?.hash(to, undefined, signal) : expected,
    ]);
    return hashes.every((hash) => hash === expected);
  }

  async #large(job: Job, signal: AbortSignal): Promise<LargeCopy> {
    const large = new LargeCopy({
      operation: this.#operation,
      copy: this.#copy,
      source: this.#source,
      destination: this.#destination,
      verifies: this.verifies,
      resumes: this.resumes && this.#destination.keepsParts,
      mode: this.modeOf(job.found),
      job,
    });
    await large.run(signal);
    return large;
  }
}

function isLarge({ size }: Found): boolean {
  return size > SMALL_FILE_BYTES;
}
