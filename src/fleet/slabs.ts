/** Lengths of the memory that frames of bulk data are put into: 64 KiB of output as base64, and the longest frame. */
const SLAB_BYTES: readonly number[] = [96 * 1024, 257 * 1024];
/** Shorter frames are not worth it. */
const MIN_BYTES = 16 * 1024;
/** Number of buffers of each length that an idle connection keeps. */
const IDLE_SLABS = 2;

/**
 * Memory for frames, reused from earlier ones if possible: V8 collects all garbage after each 20 MB of new buffers,
 * however short-lived they are. Each connection has its own. A peer that acknowledges what it has not received can make
 * a connection overwrite pending data, and must not see data of others.
 */
export class Slabs {
  readonly #free: readonly Buffer[][] = SLAB_BYTES.map(() => []);

  take(bytes: number): Buffer {
    const kind = bytes < MIN_BYTES ? -1 : SLAB_BYTES.findIndex((length) => length >= bytes);
    if (kind < 0) return Buffer.allocUnsafe(bytes);
    const slab = this.#free[kind]!.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES[kind]!);
    return slab.subarray(0, bytes);
  }

  /** Takes back the memory of a frame that is no longer used. */
  give(frame: Buffer): void {
    const kind = SLAB_BYTES.indexOf(frame.buffer.byteLength);
    if (kind >= 0) this.#free[kind]!.push(Buffer.from(frame.buffer));
  }

  /** Nothing is in transit. */
  rest(): void {
    for (const list of this.#free) if (list.length > IDLE_SLABS) list.length = IDLE_SLABS;
  }
}
