import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { Fifo } from "../../base/fifo.ts";
import { ERRNO } from "../../native/os-error.ts";
import { libc } from "../../native/libc.ts";
import { setTerminalSize, type TerminalSize } from "../../native/spawn.ts";

/** Input of a process. Bytes are queued; they are dropped once the reader has left. */
export interface InputWriter {
  readonly queuedBytes: number;
  /** Calls back when the kernel has the bytes, or they are no longer wanted. */
  write(bytes: Uint8Array, done: () => void): void;
  /** Signals the end of input after what was written. It must be the last call. */
  end(): void;
  readonly ended: boolean;
  close(): void;
}

/** The input of a terminal, through which its size can also be set. */
export interface TerminalInput extends InputWriter {
  readonly size: TerminalSize;
  resize(size: TerminalSize): void;
}

/** Writes to a pipe, which is closed with the writer. */
export function writePipe(fd: number): InputWriter {
  const socket = new Socket({ fd, readable: false, writable: true });
  // EPIPE: the process has closed its stdin, which is not an error of the writer.
  socket.on("error", () => socket.destroy());
  let ended = false;
  return {
    get queuedBytes() {
      return socket.writableLength;
    },
    get ended() {
      return ended;
    },
    write: (bytes, done) => {
      if (socket.destroyed) done();
      else socket.write(bytes, () => done());
    },
    end: () => {
      if (ended) return;
      ended = true;
      // Called back after everything written before.
      if (!socket.destroyed) socket.write(NOTHING, () => socket.destroy());
    },
    close: () => {
      socket.destroy();
    },
  };
}

const NOTHING = new Uint8Array(0);
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** The terminal's end-of-file character, unless a program has set another one (VEOF). */
const END_OF_FILE = 0x04;
const FIRST_RETRY_MS = 1;
const LONGEST_RETRY_MS = 50;

/**
 * Writes to the master of a terminal, through a descriptor that is closed with the writer. libuv writes to terminals in
 * blocking mode, so a program that does not read its input would block the server; this retries after a while instead.
 */
export class TerminalWriter implements TerminalInput {
  size: TerminalSize;
  readonly #master: number;
  readonly #queue = new Fifo<{ bytes: Uint8Array; done: () => void }>();
  #queuedBytes = 0;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #lineBegun = false;
  #ended = false;
  #closed = false;

  constructor(master: number, size: TerminalSize) {
    this.#master = master;
    this.size = size;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  write(bytes: Uint8Array, done: () => void): void {
    if (this.#closed) {
      done();
      return;
    }
    const last = bytes.at(-1);
    if (last !== undefined) this.#lineBegun = last !== LINE_FEED && last !== CARRIAGE_RETURN;
    this.#queue.push({ bytes, done });
    this.#queuedBytes += bytes.length;
    if (this.#retry === undefined) this.#flush();
  }

  get ended(): boolean {
    return this.#ended;
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    // In the middle of a line, the first EOF only passes that line to the reader.
    this.write(new Uint8Array(this.#lineBegun ? 2 : 1).fill(END_OF_FILE), () => {});
  }

  resize(size: TerminalSize): void {
    if (this.#closed) return;
    setTerminalSize(this.#master, size);
    this.size = size;
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
      const written = libc().write(this.#master, entry.bytes, entry.bytes.length);
      if (written < 0 && libc().errno() === ERRNO.EAGAIN) {
        this.#retry = setTimeout(() => this.#flush(), this.#retryMs);
        this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
        return;
      }
      // Any other error means that the terminal is gone; its input is dropped.
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
