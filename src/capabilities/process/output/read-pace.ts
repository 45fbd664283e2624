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
  #reads = 0;
  #bytes = 0;
  #since = 0;

  /** Counts a read; true if the next one should wait a moment. */
  isTooEager(length: number, now: number): boolean {
    if (length >= LARGE_READ_BYTES) {
      this.#reads = 0;
      return false;
    }
    if (this.#reads === 0 || now - this.#since > FLOOD_MS) {
      this.#reads = 0;
      this.#bytes = 0;
      this.#since = now;
    }
    this.#reads += 1;
    this.#bytes += length;
    if (this.#reads < FLOOD_READS || this.#bytes < FLOOD_BYTES) return false;
    this.#reads = 0;
    return true;
  }
}
