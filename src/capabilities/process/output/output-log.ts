import { Fifo } from "../../../base/fifo.ts";
import { EvictedEdges } from "./evicted-edges.ts";
import type { ExitReport } from "../exit-report.ts";

export interface LogLimits {
  readonly maxRetainedBytes: number;
  readonly maxRetainedChunks: number;
}

export type StreamName = "stdout" | "stderr" | "pty";

/** The end of a process, as it is reported. */
export interface Exit {
  readonly exitCode: number;
  readonly report: ExitReport;
  /** True if a sandbox seems to be the reason for its failure. */
  readonly sandboxDenied: boolean;
}

export type ProcessEvent =
  | { readonly kind: "output"; readonly seq: number; readonly stream: StreamName; readonly bytes: Uint8Array }
  | ({ readonly kind: "exited"; readonly seq: number } & Exit)
  | { readonly kind: "closed"; readonly seq: number };

export interface Chunk {
  readonly seq: number;
  readonly stream: StreamName;
  readonly bytes: Uint8Array;
}

/** The beginning and the end of one stream. */
export interface Snapshot {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  /** Bytes between the two. */
  readonly omittedBytes: number;
  readonly totalBytes: number;
}

interface StreamRecord {
  readonly stream: StreamName;
  totalBytes: number;
  /** Part of them in the log. */
  retainedBytes: number;
  evicted: EvictedEdges | undefined;
}

interface OutputEntry {
  readonly kind: "output";
  readonly record: StreamRecord;
  /** Position of its bytes in the ring; changes when the ring grows. */
  start: number;
  readonly length: number;
  readonly atMs: number;
}

type Entry =
  | OutputEntry
  | { readonly kind: "exited"; readonly exit: Exit; readonly atMs: number }
  | { readonly kind: "closed"; readonly atMs: number };

const SMALLEST_RING_BYTES = 1024;
/** Most processes write nothing, and an empty list for each would cost memory. */
const NO_RECORDS: StreamRecord[] = [];
const NO_BYTES = Buffer.alloc(0);
const LARGE_RING_BYTES = 64 * 1024;
/** Bytes kept from the beginning and the end of each stream, however much other streams write. */
export const EDGE_BYTES = 64 * 1024;

/**
 * The numbered events of one process, with as much of its latest output as the limits allow. Bytes live in a ring that
 * grows with the output up to the limit, so that a quiet process costs little and a loud one allocates nothing per
 * chunk.
 */
export class OutputLog {
  readonly #maxBytes: number;
  readonly #maxChunks: number;
  readonly #edgeBytes: number;
  /** At most three. */
  #records: StreamRecord[] = NO_RECORDS;
  readonly #entries = new Fifo<Entry>();
  #evicted: (() => void) | undefined;
  #ring = NO_BYTES;
  #head = 0;
  #bytes = 0;
  #nextSeq = 1;

  /** `evicted` is called once, when the first output is evicted. */
  constructor(limits: LogLimits & { edgeBytes?: number }, evicted?: () => void) {
    this.#evicted = evicted;
    this.#maxBytes = limits.maxRetainedBytes;
    this.#maxChunks = limits.maxRetainedChunks;
    this.#edgeBytes = limits.edgeBytes ?? EDGE_BYTES;
  }

  /** One past the newest event. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  get retainedBytes(): number {
    return this.#bytes;
  }

  /** Total output, retained or not. */
  get totalBytes(): number {
    let total = 0;
    for (const record of this.#records) total += record.totalBytes;
    return total;
  }

  appendOutput(stream: StreamName, bytes: Uint8Array): number {
    const record = this.#record(stream) ?? this.#addRecord(stream);
    record.totalBytes += bytes.length;
    while (this.#entries.size > 0 && !this.#hasRoom(bytes.length)) this.#evict();
    if (!this.#hasRoom(bytes.length)) {
      // Larger than the limit: it gets a number and is evicted at once.
      this.#evictedOf(record).add(bytes, false);
      this.#nextSeq += 1;
      return this.#nextSeq - 1;
    }
    this.#reserve(bytes.length);
    const start = (this.#head + this.#bytes) % (this.#ring.length || 1);
    this.#store(start, bytes);
    this.#bytes += bytes.length;
    record.retainedBytes += bytes.length;
    return this.#push({ kind: "output", record, start, length: bytes.length, atMs: Date.now() });
  }

  /**
   * The beginning and the end of a stream, as far as kept and within `maxBytes`. The bytes are valid until the next
   * append.
   */
  snapshot(stream: StreamName, maxBytes: number): Snapshot {
    const record = this.#record(stream);
    const totalBytes = record?.totalBytes ?? 0;
    const first = record?.evicted?.head ?? new Uint8Array(0);
    const last = this.#lastBytes(record);
    const missing = Math.max(0, totalBytes - last.length - first.length);
    // If nothing is missing, the two parts form the whole stream.
    const known = missing > 0 ? first : Buffer.concat([first.subarray(0, totalBytes - last.length), last]);
    const head = known.subarray(0, totalBytes <= maxBytes ? totalBytes : Math.ceil(maxBytes / 2));
    const room = Math.min(maxBytes, totalBytes) - head.length;
    const tail = last.subarray(Math.max(0, last.length - room));
    return { head, tail, totalBytes, omittedBytes: totalBytes - head.length - tail.length };
  }

  appendExited(exit: Exit): number {
    return this.#push({ kind: "exited", exit, atMs: Date.now() });
  }

  /** Call it last: the log then keeps only what reading needs. */
  appendClosed(): number {
    const seq = this.#push({ kind: "closed", atMs: Date.now() });
    this.#entries.compact();
    this.#evicted = undefined;
    // Copying a ring that is nearly full would cost more than it returns.
    if (this.#bytes < this.#ring.length / 2) this.#resize(this.#bytes);
    return seq;
  }

  /**
   * The event with that number; undefined if it was evicted or does not exist yet. Its bytes are valid until the next
   * append.
   */
  event(seq: number): ProcessEvent | undefined {
    const entry = this.#entry(seq);
    switch (entry?.kind) {
      case undefined:
        return undefined;
      case "output":
        return { kind: "output", seq, stream: entry.record.stream, bytes: this.#view(entry) };
      case "exited":
        return { kind: "exited", seq, ...entry.exit };
      case "closed":
        return { kind: "closed", seq };
    }
  }

  /**
   * Output after a number, in whole chunks: at least one if there is any, more while their total stays within
   * `maxBytes`. Bytes are valid until the next append.
   */
  chunksAfter(afterSeq: number, maxBytes: number): Chunk[] {
    const chunks: Chunk[] = [];
    let total = 0;
    for (let seq = Math.max(afterSeq + 1, this.firstSeq); seq < this.#nextSeq; seq += 1) {
      const entry = this.#entry(seq);
      if (entry?.kind !== "output") continue;
      if (chunks.length > 0 && total + entry.length > maxBytes) break;
      total += entry.length;
      chunks.push({ seq, stream: entry.record.stream, bytes: this.#view(entry) });
      if (total >= maxBytes) break;
    }
    return chunks;
  }

  /** When the retained events from a number on came, up to `maxCount` of them. */
  timesFrom(seq: number, maxCount: number): { firstSeq: number; timesMs: number[] } {
    const firstSeq = Math.min(Math.max(seq, this.firstSeq), this.#nextSeq);
    const end = Math.min(this.#nextSeq, firstSeq + maxCount);
    const timesMs: number[] = [];
    for (let each = firstSeq; each < end; each += 1) timesMs.push(this.#entry(each)!.atMs);
    return { firstSeq, timesMs };
  }

  /** Number of the event after the last one that is older; undefined if none is retained that is older. */
  since(timeMs: number): number | undefined {
    for (let seq = this.#nextSeq - 1; seq >= this.firstSeq; seq -= 1)
      if (this.#entry(seq)!.atMs < timeMs) return seq + 1;
    return undefined;
  }

  #addRecord(stream: StreamName): StreamRecord {
    const record: StreamRecord = { stream, totalBytes: 0, retainedBytes: 0, evicted: undefined };
    this.#records = this.#records.concat(record);
    return record;
  }

  #record(stream: StreamName): StreamRecord | undefined {
    return this.#records.find((record) => record.stream === stream);
  }

  #evictedOf(record: StreamRecord): EvictedEdges {
    if (record.evicted === undefined) {
      this.#evicted?.();
      this.#evicted = undefined;
      record.evicted = new EvictedEdges(this.#edgeBytes);
    }
    return record.evicted;
  }

  /** The retained end of a stream. */
  #lastBytes(record: StreamRecord | undefined): Uint8Array {
    if (record === undefined) return new Uint8Array(0);
    const pieces: Uint8Array[] = [record.evicted?.tail ?? new Uint8Array(0)];
    for (let offset = 0; offset < this.#entries.size; offset += 1) {
      const entry = this.#entries.at(offset);
      if (entry?.kind === "output" && entry.record === record) pieces.push(this.#view(entry));
    }
    return Buffer.concat(pieces);
  }

  /** The oldest retained event, or the next one. */
  get firstSeq(): number {
    return this.#nextSeq - this.#entries.size;
  }

  #entry(seq: number): Entry | undefined {
    const offset = seq - this.firstSeq;
    return offset < 0 ? undefined : this.#entries.at(offset);
  }

  #hasRoom(length: number): boolean {
    return this.#bytes + length <= this.#maxBytes && this.#entries.size < this.#maxChunks;
  }

  #push(entry: Entry): number {
    this.#entries.push(entry);
    this.#nextSeq += 1;
    return this.#nextSeq - 1;
  }

  #evict(): void {
    const entry = this.#entries.shift();
    if (entry?.kind !== "output") return;
    this.#keepEdges(entry);
    this.#head = (this.#head + entry.length) % (this.#ring.length || 1);
    this.#bytes -= entry.length;
  }

  /** A flood on one stream costs nothing here: its beginning is kept, and the log holds enough of its end. */
  #keepEdges(entry: OutputEntry): void {
    const { record } = entry;
    record.retainedBytes -= entry.length;
    const evicted = this.#evictedOf(record);
    const logKeepsEnough = record.retainedBytes >= this.#edgeBytes;
    if (evicted.ignores(logKeepsEnough)) evicted.skip(entry.length);
    else evicted.add(this.#view(entry), logKeepsEnough);
  }

  #reserve(length: number): void {
    const needed = this.#bytes + length;
    if (needed <= this.#ring.length) return;
    let size = Math.max(this.#ring.length, SMALLEST_RING_BYTES);
    // Large rings grow faster: discarded ones wait for the garbage collector, and untouched memory costs nothing.
    while (size < needed) size *= size < LARGE_RING_BYTES ? 2 : 4;
    this.#resize(Math.min(size, this.#maxBytes));
  }

  #resize(size: number): void {
    const ring = Buffer.allocUnsafeSlow(size);
    const untilEnd = Math.min(this.#bytes, this.#ring.length - this.#head);
    this.#ring.copy(ring, 0, this.#head, this.#head + untilEnd);
    this.#ring.copy(ring, untilEnd, 0, this.#bytes - untilEnd);
    // Entries move by the same distance as the head, around the old ring.
    for (let offset = 0; offset < this.#entries.size; offset += 1) {
      const entry = this.#entries.at(offset);
      if (entry?.kind === "output")
        entry.start = (entry.start - this.#head + this.#ring.length) % (this.#ring.length || 1);
    }
    this.#ring = ring;
    this.#head = 0;
  }

  #store(start: number, bytes: Uint8Array): void {
    const untilEnd = Math.min(bytes.length, this.#ring.length - start);
    this.#ring.set(bytes.subarray(0, untilEnd), start);
    this.#ring.set(bytes.subarray(untilEnd), 0);
  }

  #view(entry: OutputEntry): Uint8Array {
    const end = entry.start + entry.length;
    if (end <= this.#ring.length) return this.#ring.subarray(entry.start, end);
    return Buffer.concat([this.#ring.subarray(entry.start), this.#ring.subarray(0, end - this.#ring.length)]);
  }
}
