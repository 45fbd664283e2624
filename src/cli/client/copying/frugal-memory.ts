import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes that may become garbage before it is collected. */
const GARBAGE_BYTES = 16 * 1024 * 1024;
/** Garbage per small file besides its bytes. */
const FILE_BYTES = 16 * 1024;
/** From this size, the memory of received bytes is reused. */
const REUSED_BYTES = 256 * 1024;

/**
 * Limits the memory of a copy. Node lets the space for new objects grow to 32 MiB. And it frees received bytes when its
 * heap is full, but they are not in its heap: a copy of many files would hold on to a hundred megabytes of garbage.
 *
 * The returned function is called for each file, and for each block of a large one, with what has been copied since the
 * beginning. `receives` is false if the bytes come from files of this machine, whose memory is reused.
 */
export function frugalMemory(receives: boolean): (copied: { bytes: number; files: number }) => void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const last = { bytes: 0, files: 0 };
  let garbage = 0;
  return ({ bytes, files }) => {
    const received = receives ? bytes - last.bytes : 0;
    garbage += (received < REUSED_BYTES ? received : 0) + (files - last.files) * FILE_BYTES;
    Object.assign(last, { bytes, files });
    if (garbage < GARBAGE_BYTES) return;
    garbage = 0;
    collect();
  };
}
