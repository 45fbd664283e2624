/** Reads from here on are worth their cost by themselves. */
const LARGE_READ_BYTES = 32 * 1024;
/** A flood: so many small reads that carry so much, within this time. Questions and answers of a few KiB stay below it. */
const FLOOD_READS = 4;
const FLOOD_BYTES = 24 * 1024;
const FLOOD_MS = 1;

/**
 * Finds out when a pipe is read too eagerly. A reader that shares a core with the writer is woken for every write, and both then pay for a switch, and the reader
 * for a message, for each few KiB. If it looks away for a moment, the writer fills the pipe, and from then on reads are large.
 */
export class ReadPace {
  #reads = 0;
  #bytes = 0;
  #since = 0;

  /** Counts a read; true when the next one should wait a moment. */
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
