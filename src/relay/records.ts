import { Fifo } from "../base/fifo.ts";

/** Plaintext of one record. A longer one would not fit into a message of Noise. */
export const MAX_RECORD_BYTES = 61_440;
const LENGTH_BYTES = 4;
/** How far records may arrive ahead of one that is missing. */
const MAX_AHEAD = 64;
const MAX_AHEAD_BYTES = 1024 * 1024;

/** A message of which not everything is in records yet. */
interface Waiting {
  readonly parts: readonly Uint8Array[];
  readonly flushed: (() => void) | undefined;
}

/** Cuts messages into the plaintexts of records: each message has its length before it, and a record may hold several. */
export class RecordCutter {
  readonly #waiting = new Fifo<Waiting>();
  /** Where the next record begins in the first message. */
  #part = 0;
  #start = 0;

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(parts: readonly Uint8Array[], flushed?: () => void): void {
    const length = Buffer.allocUnsafe(LENGTH_BYTES);
    length.writeUInt32BE(parts.reduce((sum, part) => sum + part.length, 0));
    this.#waiting.push({ parts: [length, ...parts], flushed });
  }

  /** The next record, in parts; undefined if there is nothing left. `whole` are the messages that end in it. */
  next(): { record: Uint8Array[]; whole: (() => void)[] } | undefined {
    if (this.isEmpty) return undefined;
    const pieces: Uint8Array[] = [];
    const whole: (() => void)[] = [];
    let left = MAX_RECORD_BYTES;
    for (
      let message = this.#waiting.peek();
      message !== undefined && left > 0;
      message = this.#waiting.peek()
    ) {
      const part = message.parts[this.#part];
      if (part === undefined) {
        this.#waiting.shift();
        this.#part = 0;
        if (message.flushed !== undefined) whole.push(message.flushed);
        continue;
      }
      const piece = part.subarray(this.#start, this.#start + left);
      pieces.push(piece);
      left -= piece.length;
      this.#start += piece.length;
      if (this.#start === part.length) {
        this.#part += 1;
        this.#start = 0;
      }
    }
    // A message that ends with the record has been taken, too.
    const last = this.#waiting.peek();
    if (last !== undefined && this.#part === last.parts.length) {
      this.#waiting.shift();
      this.#part = 0;
      if (last.flushed !== undefined) whole.push(last.flushed);
    }
    return { record: pieces, whole };
  }

  /** Drops everything. */
  clear(): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) next.flushed?.();
  }
}

/** Joins records into messages. */
export class MessageJoiner {
  readonly #maxMessageBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  /** Length of the message, once it is known. */
  #length: number | undefined;

  constructor(maxMessageBytes: number) {
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** The messages that a record completes. Throws a RangeError for an empty message, or one that is too long. */
  *take(record: Buffer): Generator<Buffer> {
    this.#pieces.push(record);
    this.#bytes += record.length;
    for (;;) {
      if (this.#length === undefined) {
        if (this.#bytes < LENGTH_BYTES) return;
        this.#length = this.#cut(LENGTH_BYTES).readUInt32BE();
        if (this.#length === 0) throw new RangeError("a message is empty");
        if (this.#length > this.#maxMessageBytes)
          throw new RangeError(`a message is longer than ${this.#maxMessageBytes} bytes`);
      }
      if (this.#bytes < this.#length) return;
      const message = this.#cut(this.#length);
      this.#length = undefined;
      yield message;
    }
  }

  #cut(length: number): Buffer {
    const all = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces, this.#bytes);
    this.#bytes -= length;
    this.#pieces = this.#bytes === 0 ? [] : [all.subarray(length)];
    return all.subarray(0, length);
  }
}

/** Puts records into their order: one may arrive a little too early, or twice. */
export class RecordOrder {
  readonly #early = new Map<number, Buffer>();
  #earlyBytes = 0;
  #next = 0;

  /** The records that are due now. Throws a RangeError for one that is too far ahead. */
  *take(seq: number, record: Buffer): Generator<Buffer> {
    if (seq < this.#next || this.#early.has(seq)) return;
    if (seq - this.#next > MAX_AHEAD || this.#earlyBytes + record.length > MAX_AHEAD_BYTES)
      throw new RangeError("a record is too far ahead");
    this.#early.set(seq, record);
    this.#earlyBytes += record.length;
    for (let due = this.#early.get(this.#next); due !== undefined; due = this.#early.get(this.#next)) {
      this.#early.delete(this.#next);
      this.#earlyBytes -= due.length;
      this.#next += 1;
      yield due;
    }
  }
}
