import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes that may become garbage before it is collected. */
const GARBAGE_BYTES = 8 * 1024 * 1024;
/** What a small file leaves behind besides its bytes. */
const FILE_BYTES = 16 * 1024;

/**
 * Keeps a copy small. Node frees received bytes when its heap is full, and they are not in its heap: without this, a copy
 * would hold a hundred megabytes that nobody uses.
 */
export class FrugalMemory {
  readonly #collect: () => void;
  readonly #receives: boolean;
  #collected = 0;

  /** `receives` is false if the bytes come from files of this machine, whose memory is used again. */
  constructor({ receives }: { receives: boolean }) {
    setFlagsFromString("--expose-gc");
    this.#collect = runInNewContext("gc") as () => void;
    this.#receives = receives;
  }

  /** Tells how much has been copied since the beginning. */
  copied({ bytes, files }: { readonly bytes: number; readonly files: number }): void {
    const passed = (this.#receives ? bytes : 0) + files * FILE_BYTES;
    if (passed - this.#collected < GARBAGE_BYTES) return;
    this.#collected = passed;
    this.#collect();
  }
}
