import type { Readable } from "node:stream";
import { createDeferred, type Deferred } from "../../../base/deferred.ts";

/** The amount that the library sends in one message. */
const MAX_BYTES = 256 * 1024;

/**
 * The input of a stream. What arrives while a piece is being sent becomes the next piece, so that a fast source needs
 * few messages and a slow one does not wait.
 */
export class GatheredInput implements AsyncIterableIterator<Uint8Array> {
  readonly #source: Readable;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #error: Error | undefined;
  #arrived: Deferred<void> | undefined;

  constructor(source: Readable) {
    this.#source = source;
    source.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#bytes += chunk.length;
      if (this.#bytes >= MAX_BYTES) source.pause();
      this.#wake();
    });
    source.once("end", () => this.destroy());
    source.once("close", () => this.destroy());
    source.once("error", (error) => {
      this.#error = error;
      this.#wake();
    });
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      if (this.#bytes > 0) return { done: false, value: this.#take() };
      if (this.#error !== undefined) throw this.#error;
      if (this.#ended) return { done: true, value: undefined };
      this.#arrived = createDeferred();
      await this.#arrived.promise;
    }
  }

  /** Stops reading. The stream itself is left as it is. */
  destroy(): void {
    this.#ended = true;
    this.#wake();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): Uint8Array {
    const [first] = this.#chunks;
    const bytes = this.#chunks.length === 1 ? first! : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    this.#source.resume();
    return bytes;
  }

  #wake(): void {
    this.#arrived?.resolve();
    this.#arrived = undefined;
  }
}
