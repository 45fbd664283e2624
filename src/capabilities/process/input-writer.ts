import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { Fifo } from "../../base/fifo.ts";
import { ERRNO } from "../os-error.ts";
import { libc } from "../libc.ts";

/** Where a process takes its input from. Bytes are queued; what comes after the reader has left is dropped. */
export interface InputWriter {
  readonly queuedBytes: number;
  /** Calls back when the kernel has the bytes, or nobody wants them any more. */
  write(bytes: Uint8Array, done: () => void): void;
  close(): void;
}

/** Writes to the end of a pipe, which is closed with the writer. */
export function writePipe(fd: number): InputWriter {
  const socket = new Socket({ fd, readable: false, writable: true });
  // EPIPE: the process has closed its stdin. That is its right and no fault of the writer.
  socket.on("error", () => socket.destroy());
  return {
    get queuedBytes() {
      return socket.writableLength;
    },
    write: (bytes, done) => {
      if (socket.destroyed) done();
      else socket.write(bytes, () => done());
    },
    close: () => {
      socket.destroy();
    },
  };
}

const FIRST_RETRY_MS = 1;
const LONGEST_RETRY_MS = 50;

/**
 * Writes to the master of a terminal, by a descriptor that is closed with the writer. libuv writes to terminals in blocking mode, so a program
 * that does not read its input would stop the server; this asks again after a while instead.
 */
export function writeTerminal(master: number): InputWriter {
  return new TerminalWriter(master);
}

class TerminalWriter implements InputWriter {
  readonly #master: number;
  readonly #queue = new Fifo<{ bytes: Uint8Array; done: () => void }>();
  #queuedBytes = 0;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #closed = false;

  constructor(master: number) {
    this.#master = master;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  write(bytes: Uint8Array, done: () => void): void {
    if (this.#closed) {
      done();
      return;
    }
    this.#queue.push({ bytes, done });
    this.#queuedBytes += bytes.length;
    if (this.#retry === undefined) this.#flush();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#retry);
    closeSync(this.#master);
    for (let entry = this.#queue.shift(); entry; entry = this.#queue.shift()) entry.done();
    this.#queuedBytes = 0;
  }

  #flush(): void {
    this.#retry = undefined;
    for (let entry = this.#queue.peek(); entry !== undefined; entry = this.#queue.peek()) {
      const written =
        entry.bytes.length === 0 ? 0 : libc().write(this.#master, entry.bytes, entry.bytes.length);
      if (written < 0 && libc().errno() === ERRNO.EAGAIN) {
        this.#retry = setTimeout(() => this.#flush(), this.#retryMs);
        this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
        return;
      }
      // Any other error means that the terminal is gone; what was meant for it is dropped.
      const taken = written < 0 ? entry.bytes.length : written;
      this.#queuedBytes -= taken;
      this.#retryMs = FIRST_RETRY_MS;
      entry.bytes = entry.bytes.subarray(taken);
      if (entry.bytes.length > 0) continue;
      this.#queue.shift();
      entry.done();
    }
  }
}
