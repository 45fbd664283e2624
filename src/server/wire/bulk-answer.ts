import { JsonParts } from "../../rpc/json-text.ts";
import { base64Between } from "../../capabilities/base64-into.ts";
import { bulkBuffers } from "../../capabilities/bulk-buffers.ts";

/** Below this size, fresh memory is as cheap as reused memory. */
const SMALL_BYTES = 64 * 1024;

/** An answer that is mostly base64 of large pieces. Its memory is reused once it has been sent. */
export class BulkAnswer {
  readonly #parts: Uint8Array[] = [];
  readonly #lent: Buffer[] = [];

  /** Adds at most `BULK_BYTES` bytes, as base64 between two short pieces of JSON. */
  push(before: string, bytes: Uint8Array, after: string): void {
    if (bytes.length < SMALL_BYTES) {
      this.#parts.push(base64Between(before, bytes, after));
      return;
    }
    const buffer = bulkBuffers.take();
    this.#lent.push(buffer);
    this.#parts.push(base64Between(before, bytes, after, buffer));
  }

  /** The whole answer, with JSON before and after all pieces. */
  finish(before = "", after = ""): JsonParts {
    const ends = [before, after].map((text) => Buffer.from(text));
    const parts = [ends[0]!, ...this.#parts, ends[1]!].filter((part) => part.length > 0);
    return new JsonParts(parts, () => {
      for (const buffer of this.#lent.splice(0)) bulkBuffers.giveBack(buffer);
    });
  }
}
