import type { Stream } from "./line-store.ts";

const MAX_BYTES = 32 * 1024 * 1024;

/** The bytes of the output as they came, for a download: the latest 32 MiB. */
export class RawOutput {
  #chunks: { readonly stream: Stream; readonly bytes: Uint8Array }[] = [];
  #bytes = 0;
  #received = 0;

  /** All that ever arrived. */
  get received(): number {
    return this.#received;
  }

  append(stream: Stream, bytes: Uint8Array): void {
    this.#chunks.push({ stream, bytes });
    this.#bytes += bytes.length;
    this.#received += bytes.length;
    let drop = 0;
    while (this.#bytes > MAX_BYTES && drop < this.#chunks.length - 1) {
      this.#bytes -= this.#chunks[drop]!.bytes.length;
      drop++;
    }
    if (drop > 0) this.#chunks = this.#chunks.slice(drop);
  }

  /** The bytes of one stream, or of all in the order of their arrival. */
  chunks(stream?: Stream): readonly Uint8Array[] {
    const wanted =
      stream === undefined ? this.#chunks : this.#chunks.filter((chunk) => chunk.stream === stream);
    return wanted.map(({ bytes }) => bytes);
  }
}
