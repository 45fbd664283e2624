/** Reads of this size are efficient on their own. */
const LARGE_READ_BYTES = 32 * 1024;
/** A flood: this many small reads with this many bytes, within this time. Dialogues of a few KiB stay below it. */
const FLOOD_READS = 4;
const FLOOD_BYTES = 24 * 1024;
const FLOOD_MS = 1;

/**
 * Detects when a pipe is read too eagerly. A reader that shares a core with the writer is woken for every write, so
 * that both pay for a context switch, and the reader for a message, per few KiB. If the reader pauses for a moment, the
 * writer fills the pipe, and later reads are large.
 */
export class ReadPace {
  /** Small reads that follow each other. */
  #burst: { reads: number; bytes: number; readonly since: number } | undefined;

  /** Counts a read; true if the next one should wait a moment. */
  shouldPause(length: number, now: number): boolean {
    if (length >= LARGE_READ_BYTES) {
      this.#burst = undefined;
      return false;
    }
    if (this.#burst === undefined || now - this.#burst.since > FLOOD_MS)
      this.#burst = { reads: 0, bytes: 0, since: now };
    this.#burst.reads += 1;
    this.#burst.bytes += length;
    if (this.#burst.reads < FLOOD_READS || this.#burst.bytes < FLOOD_BYTES) return false;
    this.#burst = undefined;
    return true;
  }
}
