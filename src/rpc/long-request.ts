import { Base64Bytes } from "../base/base64-bytes.ts";
import { type NodeBuffer, type NodeBuffers, nodeBuffer } from "../base/node-buffer.ts";
import { formatRequest, type IdText } from "../protocol/envelope.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/wire-limits.ts";

/** Small enough to stay in the processor's cache. A multiple of 3, so that no piece ends with padding. */
const PIECE_BYTES = 24 * 1024;
const MIB = 1024 * 1024;
/** Buffers that are kept for the next messages. */
const MAX_SPARE = 6;

const spare: NodeBuffer[] = [];

/** A message as bytes, and what returns their memory once they are sent. */
export interface LongRequest {
  readonly message: Uint8Array;
  readonly release: () => void;
}

/**
 * Encodes a request whose last long member is bytes. Undefined if there is none, or it would be too long; such a request
 * is encoded as text.
 */
export function encodeLongRequest(id: IdText, method: string, params: unknown): LongRequest | undefined {
  if (nodeBuffer === undefined || typeof params !== "object" || params === null) return undefined;
  const member = Object.entries(params).find((entry) => entry[1] instanceof Base64Bytes);
  if (member === undefined || "bytes" in params) return undefined;
  const [name, { bytes }] = member as [string, Base64Bytes];
  const text = formatRequest(id, method, { ...params, [name]: undefined, bytes: "" });
  const tail = '"}}';
  // Only ASCII has as many bytes as characters, and nothing in it needs a check.
  if (!text.endsWith(`"bytes":"${tail}`) || !isPlain(text)) return undefined;
  const head = `${text.slice(0, -`"bytes":"${tail}`.length)}${JSON.stringify(name)}:"`;
  const encoded = Math.ceil(bytes.length / 3) * 4;
  const length = head.length + encoded + tail.length;
  if (length > MAX_MESSAGE_BYTES) return undefined;
  const buffer = take(nodeBuffer, length);
  buffer.write(head, 0, "latin1");
  encodeInto(buffer, head.length, nodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  buffer.write(tail, head.length + encoded, "latin1");
  return { message: buffer.subarray(0, length), release: () => giveBack(buffer) };
}

function isPlain(text: string): boolean {
  return /^[ -~]*$/.test(text) && !text.includes("\\u");
}

function encodeInto(target: NodeBuffer, offset: number, bytes: NodeBuffer): void {
  let at = offset;
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    const piece = bytes.toString("base64", start, Math.min(bytes.length, start + PIECE_BYTES));
    at += target.write(piece, at, "latin1");
  }
}

function take(buffers: NodeBuffers, length: number): NodeBuffer {
  const fitting = spare.findIndex((buffer) => buffer.length >= length);
  if (fitting >= 0) return spare.splice(fitting, 1)[0]!;
  return buffers.allocUnsafeSlow(Math.ceil(length / MIB) * MIB);
}

function giveBack(buffer: NodeBuffer): void {
  if (spare.length < MAX_SPARE && buffer.length <= 2 * MIB) spare.push(buffer);
}
