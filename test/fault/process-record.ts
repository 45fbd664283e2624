import type { Notification, ReadResult } from "./session-client.ts";

interface Chunk {
  readonly stream: string;
  readonly bytes: Buffer;
}

/** Consecutive output without a missing number in between. */
export interface Run {
  readonly firstSeq: number;
  readonly bytes: Buffer;
}

/** Everything a client received about one process, by notification or by process/read, merged by number. */
export class ProcessRecord {
  readonly processId: string;
  readonly faults: string[] = [];
  #chunks = new Map<number, Chunk>();
  #exitSeq: number | undefined;
  #exitCode: number | undefined;
  #closedSeq: number | undefined;
  #contiguous = 0;

  constructor(processId: string) {
    this.processId = processId;
  }

  addNotification({ method, params }: Notification): void {
    if (method === "process/output") {
      this.#addChunk(params.seq, params.stream, params.chunk);
    } else if (method === "process/exited") {
      if (this.#exitSeq !== undefined)
        this.#fault(`exited was notified twice: ${this.#exitSeq}, ${params.seq}`);
      this.#exitSeq = params.seq;
      this.#addExitCode(params.exitCode);
    } else if (method === "process/closed") {
      this.#addClosed(params.seq);
    }
    this.#advance();
  }

  addRead(result: ReadResult, afterSeq: number): void {
    let previous = afterSeq;
    for (const { seq, stream, chunk } of result.chunks) {
      if (seq <= previous) this.#fault(`process/read after ${afterSeq} gave ${seq} behind ${previous}`);
      if (seq >= result.nextSeq) this.#fault(`process/read gave ${seq} but nextSeq ${result.nextSeq}`);
      previous = seq;
      this.#addChunk(seq, stream, chunk);
    }
    if (result.exited !== (result.exitCode !== null))
      this.#fault("process/read: exited without exitCode, or reverse");
    if (result.exitCode !== null) this.#addExitCode(result.exitCode);
    if (result.closed) this.#addClosed(result.nextSeq - 1);
    this.#advance();
  }

  /** Compares what the server has retained with what was delivered, which must include it. */
  compareRetained(result: ReadResult): void {
    for (const { seq, stream, chunk } of result.chunks) {
      if (this.#chunks.has(seq)) this.#addChunk(seq, stream, chunk);
      else this.#fault(`event ${seq} is retained but was never delivered`);
    }
    if (!result.closed || result.nextSeq - 1 !== this.#closedSeq || result.exitCode !== this.#exitCode) {
      this.#fault(
        `the end is retained otherwise than delivered: ${JSON.stringify({ ...result, chunks: undefined })}`,
      );
    }
  }

  #addChunk(seq: number, stream: string, base64: string): void {
    const bytes = Buffer.from(base64, "base64");
    const known = this.#chunks.get(seq);
    if (known === undefined) this.#chunks.set(seq, { stream, bytes });
    else if (known.stream !== stream || !known.bytes.equals(bytes))
      this.#fault(`event ${seq} came with two contents`);
  }

  #addExitCode(exitCode: number): void {
    if (this.#exitCode !== undefined && this.#exitCode !== exitCode) {
      this.#fault(`two exit codes: ${this.#exitCode}, ${exitCode}`);
    }
    this.#exitCode = exitCode;
  }

  #addClosed(seq: number): void {
    if (this.#closedSeq !== undefined && this.#closedSeq !== seq) {
      this.#fault(`closed has two numbers: ${this.#closedSeq}, ${seq}`);
    }
    this.#closedSeq = seq;
  }

  #fault(what: string): void {
    this.faults.push(`${this.processId}: ${what}`);
  }

  #has(seq: number): boolean {
    return this.#chunks.has(seq) || seq === this.#exitSeq || seq === this.#closedSeq;
  }

  #advance(): void {
    while (this.#has(this.#contiguous + 1)) this.#contiguous++;
  }

  /** Highest number up to which nothing is missing. */
  get contiguous(): number {
    return this.#contiguous;
  }

  get isClosed(): boolean {
    return this.#closedSeq !== undefined;
  }

  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /**
   * Numbers up to `closed` without an event. An exit learnt from process/read has no number, so one of them is the
   * exit's.
   */
  get missing(): number[] {
    const end = this.#closedSeq ?? 0;
    return Array.from({ length: end }, (_, i) => i + 1).filter((seq) => !this.#has(seq));
  }

  /** How many events are lost for good. */
  get lostEvents(): number {
    const exitIsKnownWithoutNumber = this.#exitCode !== undefined && this.#exitSeq === undefined;
    return this.missing.length - (exitIsKnownWithoutNumber ? 1 : 0);
  }

  /** Events numbered beyond `closed`, which must be the last. */
  get afterClosed(): number[] {
    const end = this.#closedSeq ?? Number.POSITIVE_INFINITY;
    return [...this.#chunks.keys(), this.#exitSeq ?? 0].filter((seq) => seq > end);
  }

  output(stream: string): Buffer {
    return Buffer.concat(this.#ordered(stream).map(([, chunk]) => chunk.bytes));
  }

  /** The output of one stream, cut where numbers are missing. */
  runs(stream: string): Run[] {
    const runs: { firstSeq: number; chunks: Buffer[] }[] = [];
    let previous = 0;
    for (const [seq, { bytes }] of this.#ordered(stream)) {
      const gap = Array.from({ length: seq - previous - 1 }, (_, i) => previous + 1 + i).some(
        (s) => !this.#has(s),
      );
      const run = runs.at(-1);
      if (run === undefined || gap) runs.push({ firstSeq: seq, chunks: [bytes] });
      else run.chunks.push(bytes);
      previous = seq;
    }
    return runs.map(({ firstSeq, chunks }) => ({ firstSeq, bytes: Buffer.concat(chunks) }));
  }

  #ordered(stream: string): [number, Chunk][] {
    return [...this.#chunks].filter(([, chunk]) => chunk.stream === stream).sort(([a], [b]) => a - b);
  }

  toString(): string {
    const state = `events ${this.#contiguous} in a row, ${this.#chunks.size} chunks`;
    return `${this.processId}: ${state}, exit ${this.#exitCode}, closed ${this.#closedSeq}`;
  }
}
