import { constants, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";

/**
 * Opens stdout or stderr. Node writes to pipes and sockets synchronously, so that a stalled reader would stop signals
 * too. Not to block is a property of what other programs may share: a pipe is therefore opened a second time, and for a
 * socket, where that is impossible, Node restores it when this program exits.
 */
export function openOutput(fd: 1 | 2): Writable {
  const kind = fstatSync(fd);
  const own = kind.isFIFO() ? reopen(fd) : kind.isSocket() ? fd : undefined;
  if (own === undefined) return fd === 1 ? process.stdout : process.stderr;
  return new Socket({ fd: own, readable: false, writable: true });
}

/** Undefined without /proc, or if the pipe belongs to another user. */
function reopen(fd: number): number | undefined {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    return undefined;
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

  /** Rejects once the reader is gone. */
  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#error !== undefined) reject(this.#error);
      else this.#stream.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }
}
