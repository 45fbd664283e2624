import { isUtf8 } from "node:buffer";
import type { Readable, Writable } from "node:stream";
import { MAX_MESSAGE_BYTES } from "../protocol/wire-limits.ts";
import { decodeText, NO_TEXT } from "./decode-text.ts";
import { FlushTimer } from "./flush-timer.ts";
import { liftLongString } from "./long-string.ts";
import { SendQueue } from "./send-queue.ts";
import type { Transport, TransportEvents } from "./transport.ts";

const NEWLINE = 10;
const CARRIAGE_RETURN = 13;
/** Maximum number of loose pieces before they are joined, so that single bytes do not cost a hundred each. */
const MAX_LOOSE_PIECES = 1024;
/** Time a peer has to read the queue when the connection is closed. */
const CLOSE_TIMEOUT_MS = 1_000;

/** One message per line, over any pair of byte streams. */
export class JsonLinesTransport implements Transport {
  readonly source: string;
  readonly #peer: string;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #flush: FlushTimer;
  readonly #queue = new SendQueue(() => this.#events?.drain());
  readonly #maxLineBytes: number;
  #events: TransportEvents | undefined;
  #partial: Buffer[] = [];
  #partialBytes = 0;
  /** Number of pieces at the end of `#partial` that have not been joined. */
  #loosePieces = 0;
  /** Data read while the transport was paused. */
  #unread: Buffer[] = [];
  #paused = false;
  #ended = false;
  #inputEnded = false;
  /** The end of the input has been reported. */
  #finished = false;

  /** `peer` names the other end in errors: `exec-server stdio`. */
  constructor(input: Readable, output: Writable, peer: string, maxLineBytes: number = MAX_MESSAGE_BYTES) {
    this.source = `JSON-RPC message from ${peer}`;
    this.#peer = peer;
    this.#input = input;
    this.#output = output;
    this.#flush = new FlushTimer(output);
    this.#maxLineBytes = maxLineBytes;
  }

  get queuedBytes(): number {
    return this.#queue.bytes;
  }

  open(events: TransportEvents): void {
    this.#events = events;
    this.#input.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#input.on("end", () => this.#receiveEnd());
    this.#input.on("close", () => this.#receiveEnd());
    this.#input.on("error", (error) => this.cut(`failed to read ${this.source}: ${error.message}`));
    this.#output.on("error", (error) =>
      this.cut(`failed to write JSON-RPC message to ${this.#peer}: ${error.message}`),
    );
  }

  send(message: string | Uint8Array, flushed?: () => void): void {
    this.#flush.soon();
    this.#write(lineOf(message), flushed);
  }

  sendLazily(message: string | Uint8Array, flushed?: () => void): void {
    this.#flush.thisTurn();
    this.#write(lineOf(message), flushed);
  }

  sendParts(parts: readonly Uint8Array[], flushed?: () => void): void {
    this.#flush.soon();
    this.#write([...parts, "\n"], flushed);
  }

  #write(pieces: readonly (string | Uint8Array)[], flushed: (() => void) | undefined): void {
    if (this.#ended || !this.#output.writable) {
      flushed?.();
      return;
    }
    const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    this.#queue.add(bytes);
    const done = (): void => {
      flushed?.();
      this.#queue.remove(bytes);
    };
    for (const [index, piece] of pieces.entries())
      this.#output.write(piece, index === pieces.length - 1 ? done : undefined);
  }

  pause(): void {
    this.#paused = true;
    this.#input.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    // Each line may pause again, which puts the rest back.
    for (const chunk of this.#unread.splice(0)) this.#receive(chunk);
    if (this.#paused || this.#ended) return;
    this.#input.resume();
    if (this.#inputEnded) this.#finish();
  }

  close(): void {
    if (this.#ended) return;
    const cut = setTimeout(() => this.destroy(), CLOSE_TIMEOUT_MS);
    this.#output.end(() => {
      clearTimeout(cut);
      this.destroy();
    });
  }

  destroy(reason?: string): void {
    this.cut(reason);
  }

  /** Ends at once, whichever side wants it. */
  protected cut(reason?: string): void {
    // Earlier answers are still flushed, as far as the stream accepts them.
    if (!this.#ended) this.#flush.now();
    this.#end(reason);
    this.#input.destroy();
    this.#output.destroy();
  }

  #receive(chunk: Buffer): void {
    if (this.#ended) return;
    if (this.#paused) {
      this.#unread.push(chunk);
      return;
    }
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      if (this.#paused) {
        this.#unread.push(Buffer.from(chunk.subarray(start)));
        return;
      }
      if (!this.#append(chunk.subarray(start, end))) return;
      start = end + 1;
      this.#deliver();
      if (this.#ended) return;
    }
    this.#append(chunk.subarray(start));
  }

  #append(piece: Buffer): boolean {
    if (piece.length === 0) return true;
    this.#partialBytes += piece.length;
    // One more for the carriage return of the line ending, which does not count.
    if (this.#partialBytes > this.#maxLineBytes + 1) {
      this.#tooLong();
      return false;
    }
    this.#partial.push(piece);
    this.#loosePieces += 1;
    if (this.#loosePieces === MAX_LOOSE_PIECES) {
      this.#partial.push(Buffer.concat(this.#partial.splice(-MAX_LOOSE_PIECES)));
      this.#loosePieces = 0;
    }
    return true;
  }

  #deliver(): void {
    const line = this.#partial.length === 1 ? this.#partial[0]! : Buffer.concat(this.#partial);
    this.#partial = [];
    this.#partialBytes = 0;
    this.#loosePieces = 0;
    const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length;
    if (end > this.#maxLineBytes) {
      this.#tooLong();
    } else if (isUtf8(line)) {
      const content = line.subarray(0, end);
      const long = this.#events?.longMessage && liftLongString(content);
      if (long !== undefined) {
        this.#events?.longMessage?.(long);
        return;
      }
      const text = decodeText(content);
      if (text.trim() !== "") this.#events?.message(text);
    } else {
      this.#events?.message(NO_TEXT);
    }
  }

  #tooLong(): void {
    const reason = `a line is longer than ${this.#maxLineBytes} bytes`;
    if (this.#maxLineBytes >= MAX_MESSAGE_BYTES) {
      this.destroy(reason);
      return;
    }
    this.#events?.tooLong?.();
    this.#end(reason);
    this.#input.destroy();
    this.#output.end();
  }

  #receiveEnd(): void {
    if (this.#inputEnded) return;
    this.#inputEnded = true;
    if (!this.#paused) this.#finish();
  }

  /** Everything read has been delivered, except for a last line without a line ending. */
  #finish(): void {
    if (this.#ended || this.#finished) return;
    this.#finished = true;
    if (this.#partialBytes > 0) this.#deliver();
    if (this.#events?.inputEnd === undefined) this.#end();
    else if (!this.#ended) this.#events.inputEnd();
  }

  #end(reason?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events?.close(reason);
  }
}

/** Short messages are one write. */
function lineOf(message: string | Uint8Array): readonly (string | Uint8Array)[] {
  return typeof message === "string" ? [`${message}\n`] : [message, "\n"];
}
