import { closeSync } from "node:fs";
import { Socket, type SocketConstructorOpts } from "node:net";
import { ReadStream } from "node:tty";
import { libc } from "../libc.ts";

/** A descriptor that output comes from. */
export interface OutputSource {
  /** Leaves output with the kernel, so that the writer blocks once its pipe is full. */
  pause(): void;
  resume(): void;
  /** Takes what can be read without waiting, then ends, although a writer may still be there. */
  finish(): void;
}

export interface OutputSink {
  /** The bytes are valid only during the call. */
  data(bytes: Uint8Array): void;
  /** Told once, after all data. */
  end(): void;
}

const READ_BYTES = 64 * 1024;
/** The most that a pipe holds. Someone may write as fast as it is read, and would keep a source from ever finishing. */
const MAX_FINAL_BYTES = 1024 * 1024;

// One buffer serves all sources: each read is handled before the next one is made. A fresh buffer per read costs page faults.
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);

/** Reads the end of a pipe. The descriptor is the source's to close. */
export function readPipe(fd: number, sink: OutputSink): OutputSource {
  const socket = new Socket({ fd, readable: true, writable: false, ...intoReadBuffer(sink) });
  return new StreamSource(socket, sink, { drain: () => drain(fd, sink), close: () => {} });
}

/**
 * Reads the master of a terminal. When the last program leaves a terminal, libuv reports the end although the kernel still holds output, and
 * closes the descriptor (libuv#4992). `rest`, a second descriptor of the master, keeps that output, and it is read to the end from there. Both are the
 * source's to close.
 */
export function readTerminal(master: number, rest: number, sink: OutputSink): OutputSource {
  const stream = new ReadStream(master, intoReadBuffer(sink));
  return new StreamSource(stream, sink, {
    drain: () => drain(rest, sink),
    close: () => closeSync(rest),
    drainAtEnd: true,
  });
}

interface Rest {
  /** Reads what is there without waiting. */
  drain(): void;
  close(): void;
  readonly drainAtEnd?: true;
}

class StreamSource implements OutputSource {
  readonly #socket: Socket;
  readonly #sink: OutputSink;
  readonly #rest: Rest;
  #ended = false;

  constructor(socket: Socket, sink: OutputSink, rest: Rest) {
    this.#socket = socket;
    this.#sink = sink;
    this.#rest = rest;
    // EIO is how a terminal says that nobody is left on it.
    socket.on("error", () => this.#end());
    socket.on("end", () => this.#end());
    socket.on("close", () => this.#end());
    socket.resume();
  }

  pause(): void {
    if (!this.#ended) this.#socket.pause();
  }

  resume(): void {
    if (!this.#ended) this.#socket.resume();
  }

  finish(): void {
    if (this.#ended) return;
    this.#rest.drain();
    this.#end();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#rest.drainAtEnd) this.#rest.drain();
    this.#rest.close();
    this.#socket.destroy();
    this.#sink.end();
  }
}

/** Node documents `onread` for sockets that connect; it serves every socket, but the type does not say so. */
function intoReadBuffer(sink: OutputSink): SocketConstructorOpts {
  const callback = (length: number, buffer: Uint8Array): boolean => {
    sink.data(buffer.subarray(0, length));
    return true;
  };
  return { onread: { buffer: readBuffer, callback } } as SocketConstructorOpts;
}

function drain(fd: number, sink: OutputSink): void {
  for (let total = 0; total < MAX_FINAL_BYTES; ) {
    const length = libc().read(fd, readBuffer, READ_BYTES);
    if (length <= 0) return;
    total += length;
    sink.data(readBuffer.subarray(0, length));
  }
}
