import { base64Length } from "../native/base64-into.ts";
import { BufferPool } from "./buffer-pool.ts";

/** Read from a file at a time, at most. */
export const BULK_BYTES = 1024 * 1024;
/** For the JSON before and behind the base64. */
const JSON_BYTES = 64;

/** For what is read from files, and for the same as base64 in an answer. */
export const bulkBuffers = new BufferPool({ bytes: base64Length(BULK_BYTES) + JSON_BYTES, maxFree: 64 });
