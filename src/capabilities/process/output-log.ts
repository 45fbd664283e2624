import { Fifo } from "../../base/fifo.ts";
import type { ExitReport } from "./exit-report.ts";

export type StreamName = "stdout" | "stderr" | "pty";

export type ProcessEvent =
  | { readonly kind: "output"; readonly seq: number; readonly stream: StreamName; readonly bytes: Uint8Array }
  | {
      readonly kind: "exited";
      readonly seq: number;
      readonly exitCode: number;
      readonly report: ExitReport;
    }
  | { readonly kind: "closed"; readonly seq: number };

export interface Chunk {
  readonly seq: number;
  readonly stream: StreamName;
  readonly bytes: Uint8Array;
}

interface OutputEntry {
  readonly kind: "output";
  readonly stream: StreamName;
  /** Where its bytes begin in the ring; moves when the ring grows. */
  start: number;
  readonly length: number;
}

type Entry =
  | OutputEntry
  | { readonly kind: "exited"; readonly exitCode: number; readonly report: ExitReport }
  | { readonly kind: "closed" };

const SMALLEST_RING_BYTES = 1024;

/**
 * The numbered events of one process, with as much of its latest output as the bounds allow. Bytes live in a ring that grows with the
 * output up to the bound, so that a quiet process costs little and a loud one allocates nothing per chunk.
 */
export class OutputLog {
  readonly #maxBytes: number;
  readonly #maxChunks: number;
  readonly #entries = new Fifo<Entry>();
  #ring = Buffer.alloc(0);
  #head = 0;
  #bytes = 0;
  #nextSeq = 1;

  constructor(limits: { maxBytes: number; maxChunks: number }) {
    this.#maxBytes = limits.maxBytes;
    this.#maxChunks = limits.maxChunks;
  }

  /** One past the newest event. */
  get nextSeq(): number {
    return this.#nextSeq;
  }

  get retainedBytes(): number {
    return this.#bytes;
  }

  appendOutput(stream: StreamName, bytes: Uint8Array): number {
    while (this.#entries.size > 0 && !this.#hasRoom(bytes.length)) this.#evict();
    if (!this.#hasRoom(bytes.length)) {
      // Larger than the bound by itself: it has a number and is gone.
      this.#nextSeq += 1;
      return this.#nextSeq - 1;
    }
    this.#reserve(bytes.length);
    const start = (this.#head + this.#bytes) % (this.#ring.length || 1);
    this.#store(start, bytes);
    this.#bytes += bytes.length;
    return this.#push({ kind: "output", stream, start, length: bytes.length });
  }

  appendExited(exitCode: number, report: ExitReport): number {
    return this.#push({ kind: "exited", exitCode, report });
  }

  appendClosed(): number {
    return this.#push({ kind: "closed" });
  }

  /** The event with that number, or undefined when it was evicted or is not there yet. Its bytes are valid until the next append. */
  event(seq: number): ProcessEvent | undefined {
    const entry = this.#entry(seq);
    switch (entry?.kind) {
      case undefined:
        return undefined;
      case "output":
        return { kind: "output", seq, stream: entry.stream, bytes: this.#view(entry) };
      case "exited":
        return { kind: "exited", seq, exitCode: entry.exitCode, report: entry.report };
      case "closed":
        return { kind: "closed", seq };
    }
  }

  /**
   * Output after a number, whole chunks only: at least one if there is any, more while their total stays within `maxBytes`. Bytes are valid until
   * the next append.
   */
  chunksAfter(afterSeq: number, maxBytes: number): Chunk[] {
    const chunks: Chunk[] = [];
    let total = 0;
    for (let seq = Math.max(afterSeq + 1, this.#firstSeq); seq < this.#nextSeq; seq += 1) {
      const entry = this.#entry(seq);
      if (entry?.kind !== "output") continue;
      if (chunks.length > 0 && total + entry.length > maxBytes) break;
      total += entry.length;
      chunks.push({ seq, stream: entry.stream, bytes: this.#view(entry) });
      if (total >= maxBytes) break;
    }
    return chunks;
  }

  get #firstSeq(): number {
    return this.#nextSeq - this.#entries.size;
  }

  #entry(seq: number): Entry | undefined {
    const offset = seq - this.#firstSeq;
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
    this.#head = (this.#head + entry.length) % (this.#ring.length || 1);
    this.#bytes -= entry.length;
  }

  #reserve(length: number): void {
    const needed = this.#bytes + length;
    if (needed <= this.#ring.length) return;
    let size = Math.max(this.#ring.length, SMALLEST_RING_BYTES);
    while (size < needed) size *= 2;
    this.#resize(Math.min(size, this.#maxBytes));
  }

  #resize(size: number): void {
    const ring = Buffer.allocUnsafeSlow(size);
    const untilEnd = Math.min(this.#bytes, this.#ring.length - this.#head);
    this.#ring.copy(ring, 0, this.#head, this.#head + untilEnd);
    this.#ring.copy(ring, untilEnd, 0, this.#bytes - untilEnd);
    // Entries move by the same distance as the head, round the old ring.
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
