import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes that may become garbage before it is collected. */
const GARBAGE_BYTES = 16 * 1024 * 1024;
/** What a small file leaves behind besides its bytes. */
const FILE_BYTES = 16 * 1024;
/** From this size on, the memory of received bytes is used again. */
const REUSED_BYTES = 256 * 1024;

/**
 * Keeps a copy small. Node lets the space for new objects grow to 32 MiB. And it frees received bytes when its heap is
 * full, but they are not in its heap: a copy of many files would hold a hundred megabytes that nobody uses.
 */
export class FrugalMemory {
  readonly #collect: () => void;
  readonly #receives: boolean;
  #bytes = 0;
  #files = 0;
  #garbage = 0;

  /** `receives` is false if the bytes come from files of this machine, whose memory is used again. */
  constructor({ receives }: { receives: boolean }) {
    setFlagsFromString("--semi-space-growth-factor=1");
    setFlagsFromString("--expose-gc");
    this.#collect = runInNewContext("gc") as () => void;
    this.#receives = receives;
  }

  /** Reports how much has been copied since the beginning. Called for each file, and for each block of a large one. */
  copied({ bytes, files }: { readonly bytes: number; readonly files: number }): void {
    const received = this.#receives ? bytes - this.#bytes : 0;
    this.#garbage += (received < REUSED_BYTES ? received : 0) + (files - this.#files) * FILE_BYTES;
    this.#bytes = bytes;
    this.#files = files;
    if (this.#garbage < GARBAGE_BYTES) return;
    this.#garbage = 0;
    this.#collect();
  }
}
