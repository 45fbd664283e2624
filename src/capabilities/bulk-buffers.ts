import { base64Length } from "./base64-into.ts";
import { BufferPool } from "./buffer-pool.ts";

/** Maximum size of one read from a file. */
export const BULK_BYTES = 1024 * 1024;
/** Room for the JSON before and after the base64. */
const JSON_BYTES = 64;

/** Buffers for data read from files, and for the same data as base64 in an answer. */
export const bulkBuffers = new BufferPool({ bytes: base64Length(BULK_BYTES) + JSON_BYTES, maxFree: 64 });
