import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import { takeFrameBuffer } from "./frame-buffers.ts";
import { FrameLimit } from "./frame-limit.ts";

/** The part of the WebSocket library that the bytes of a socket are written to. */
export interface Receiver {
  write(chunk: Buffer): boolean;
}

/** Below this the library's own way is as good. */
const LONG_FRAME_BYTES = 256 * 1024;
const MASK_BYTES = 4;

/**
 * Gathers the payload of a long frame in one buffer while it comes, and takes the mask off, before the library sees it. The library would keep the pieces
 * until the last, copy them then, and take the mask off byte by byte; all its checks are left to it.
 */
export function gatherLongFrames(receiver: Receiver, maxMessageBytes: number): void {
  const pass = receiver.write.bind(receiver);
  const frames = new FrameLimit();
  let payload: Buffer | undefined;
  let filled = 0;
  let mask = 0;

  const gather = (chunk: Buffer): boolean => {
    const all = payload!;
    const taken = Math.min(chunk.length, all.length - filled);
    chunk.copy(all, filled, 0, taken);
    filled += taken;
    if (filled < all.length) return true;
    payload = undefined;
    if (mask !== 0) unmask(all, mask);
    const wantsMore = pass(all);
    return taken === chunk.length ? wantsMore : receive(chunk.subarray(taken));
  };

  const receive = (chunk: Buffer): boolean => {
    if (payload !== undefined) return gather(chunk);
    // What breaks the rules is the library's to refuse.
    const start = frames.accepts(chunk) ? frames.payloadStart : undefined;
    if (start === undefined || frames.payloadLeft < LONG_FRAME_BYTES) return pass(chunk);
    const length = frames.payloadLeft + chunk.length - start;
    if (length > Math.min(maxMessageBytes, MAX_FRAME_BYTES)) return pass(chunk);
    mask = chunk.readInt32LE(start - MASK_BYTES);
    chunk.fill(0, start - MASK_BYTES, start);
    pass(chunk.subarray(0, start));
    frames.skipPayload();
    payload = takeFrameBuffer(length);
    filled = 0;
    return gather(chunk.subarray(start));
  };

  receiver.write = receive;
}

/** Four bytes at a time. `mask` is the mask as a number, its first byte the lowest. */
function unmask(bytes: Buffer, mask: number): void {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  for (let index = 0; index < words.length; index += 1) words[index] = words[index]! ^ mask;
  for (let index = words.length * 4; index < bytes.length; index += 1)
    bytes[index] = bytes[index]! ^ ((mask >>> ((index % 4) * 8)) & 0xff);
}
