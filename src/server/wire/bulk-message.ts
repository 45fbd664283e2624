import { encodeBase64 } from "../../base/base64.ts";
import { BufferPool } from "../../capabilities/buffer-pool.ts";
import { base64Into, base64Length } from "../../capabilities/base64-into.ts";

/** Below this size, a string is cheaper than a buffer. */
const SMALL_BYTES = 4 * 1024;
/** Fits one read of 64 KiB in base64, plus the rest of its message. */
const pool = new BufferPool({ bytes: 90 * 1024, maxFree: 64 });

export interface BulkMessage {
  readonly message: string | Uint8Array;
  /** Returns the buffer to the pool. Call it once the message has been sent. */
  readonly release?: () => void;
}

/**
 * Puts bytes as base64 between two pieces of JSON. Bulk data goes into reused buffers, because fresh ones cost page
 * faults.
 */
export function bulkMessage(prefix: string, bytes: Uint8Array, suffix: string): BulkMessage {
  if (bytes.length < SMALL_BYTES) return { message: `${prefix}${encodeBase64(bytes)}${suffix}` };
  const size = Buffer.byteLength(prefix) + base64Length(bytes.length) + suffix.length;
  const isPooled = size <= pool.bytes;
  const buffer = isPooled ? pool.take() : Buffer.allocUnsafeSlow(size);
  let end = buffer.write(prefix, 0);
  end = base64Into(buffer, end, bytes);
  end += buffer.write(suffix, end, "latin1");
  const message = buffer.subarray(0, end);
  return isPooled ? { message, release: () => pool.giveBack(buffer) } : { message };
}
