import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";

/**
 * Opens stdout or stderr. Node writes to a pipe synchronously, so that a stalled reader would stop signals too. A pipe
 * is therefore opened a second time: not blocking must not become a property of the descriptor that other programs
 * share.
 */
export function openOutput(fd: 1 | 2): Writable {
  const standard = fd === 1 ? process.stdout : process.stderr;
  if (!fstatSync(fd).isFIFO()) return standard;
  let own: number | undefined;
  try {
    own = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
    return new Socket({ fd: own, readable: false, writable: true });
  } catch {
    // Without /proc, or a pipe of another user.
    if (own !== undefined) closeSync(own);
    return standard;
  }
}

/** Writes to a stream, and waits until the system has taken everything. */
export class OutputWriter {
  readonly #stream: Writable;
  #error: Error | undefined;

  constructor(stream: Writable) {
    this.#stream = stream;
    // A stream without a listener would end the program; each write reports its own error.
    stream.on("error", (error) => {
      this.#error = error;
    });
  }

  /** Rejects if nobody can read it any more. */
  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#error !== undefined) reject(this.#error);
      else this.#stream.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }
}
