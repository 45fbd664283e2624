import { closeSync } from "node:fs";
import { Socket, type SocketConstructorOpts } from "node:net";
import { ReadStream } from "node:tty";
import { libc } from "../../../native/libc.ts";
import { ReadPace } from "./read-pace.ts";
import type { SharedDescriptor } from "../../../native/shared-descriptor.ts";

/** A descriptor that output is read from. */
export interface OutputSource {
  /** Leaves output in the kernel, so that the writer blocks once its pipe is full. */
  pause(): void;
  resume(): void;
  /** Reads what is available without waiting, then ends, even if there are still writers. */
  finish(): void;
  /** The process has ended, so its output is available: reads it now instead of waiting for an event. */
  hurry(): void;
}

export interface OutputSink {
  /** The bytes are valid only during the call. */
  data(bytes: Uint8Array): void;
  /** Called once, after all data. */
  end(): void;
}

const READ_BYTES = 64 * 1024;
const F_GETPIPE_SZ = 1032;
/** More than a terminal holds. */
const TERMINAL_BYTES = 1024 * 1024;
/** See `ReadPace`. The shortest delay of a timer. */
const REST_MS = 1;
/** Enough to fill the buffer from a terminal; a writer of single bytes is not followed forever. */
const MAX_GATHER_READS = 32;

// One buffer serves all sources: each read is handled before the next. A fresh buffer per read costs page faults.
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);

/** Reads a non-blocking pipe. The source closes the descriptor. */
export function readPipe(fd: number, sink: OutputSink): OutputSource {
  return new PipeSource(fd, sink);
}

/**
 * Reads the master of a terminal. When the last program leaves a terminal, libuv reports the end although the kernel
 * still holds output, and closes the descriptor (libuv#4992). `rest`, a second descriptor of the master, keeps that
 * output, and it is read to the end from there. The source closes or releases both.
 */
export function readTerminal(master: number, rest: SharedDescriptor, sink: OutputSink): OutputSource {
  const stream = new ReadStream(master, intoReadBuffer(rest.fd, sink));
  return new StreamSource(stream, sink, {
    drain: () => drain(rest.fd, sink),
    close: () => rest.release(),
    drainAtEnd: true,
  });
}

interface Leftover {
  /** Reads what is available without waiting. */
  drain(): unknown;
  close?(): void;
  readonly drainAtEnd?: true;
}

/**
 * How long a pipe is left unwatched. Most commands end sooner, and their output is read when they end; only longer ones
 * are worth their own stream, which costs more than a short command itself.
 */
const FRESH_MS = 4;
/** The same while so many pipes are fresh that everything takes longer. */
const BUSY_FRESH_MS = 16;
const BUSY_PIPES = 12;

class PipeSource implements OutputSource {
  readonly #fd: number;
  readonly #sink: OutputSink;
  #stream: StreamSource | undefined;
  #ended = false;

  constructor(fd: number, sink: OutputSink) {
    this.#fd = fd;
    this.#sink = sink;
    freshPipes.add(this);
  }

  pause(): void {
    this.watch()?.pause();
  }

  resume(): void {
    this.watch()?.resume();
  }

  hurry(): void {
    if (this.#stream !== undefined || this.#ended) return;
    if (!this.readRest()) freshPipes.expectEnd(this);
  }

  /** Reads what is available, and returns whether that was all. */
  readRest(): boolean {
    if (drain(this.#fd, this.#sink) === "end") this.#end();
    return this.#ended;
  }

  finish(): void {
    if (this.#stream !== undefined) {
      this.#stream.finish();
    } else if (!this.#ended) {
      drain(this.#fd, this.#sink);
      this.#end();
    }
  }

  /** From now on the event loop reports output. */
  watch(): OutputSource | undefined {
    if (this.#ended || this.#stream !== undefined) return this.#stream;
    freshPipes.delete(this);
    const pace = new ReadPace();
    const data = (bytes: Uint8Array): void => {
      this.#sink.data(bytes);
      if (pace.shouldPause(bytes.length, performance.now())) this.#stream?.rest();
    };
    const socket = new Socket({
      fd: this.#fd,
      readable: true,
      writable: false,
      ...intoReadBuffer(this.#fd, { data }),
    });
    this.#stream = new StreamSource(socket, this.#sink, { drain: () => drain(this.#fd, this.#sink) });
    return this.#stream;
  }

  #end(): void {
    this.#ended = true;
    freshPipes.delete(this);
    closeSync(this.#fd);
    this.#sink.end();
  }
}

/** Unwatched pipes, oldest first. */
class FreshPipes {
  readonly #since = new Map<PipeSource, number>();
  readonly #expectingEnd = new Set<PipeSource>();
  #timer: NodeJS.Timeout | undefined;

  add(source: PipeSource): void {
    this.#since.set(source, performance.now());
    if (this.#timer === undefined) this.#timer = setTimeout(() => this.#watchOld(), FRESH_MS);
  }

  delete(source: PipeSource): void {
    this.#since.delete(source);
    this.#expectingEnd.delete(source);
  }

  /** Its process has ended. Children being started hold copies of every pipe for a moment, so the end may be near. */
  expectEnd(source: PipeSource): void {
    this.delete(source);
    this.add(source);
    this.#expectingEnd.add(source);
  }

  lookForEnds(): void {
    for (const source of this.#expectingEnd) source.readRest();
  }

  #watchOld(): void {
    this.#timer = undefined;
    const now = performance.now();
    const freshMs = this.#since.size >= BUSY_PIPES ? BUSY_FRESH_MS : FRESH_MS;
    for (const [source, since] of this.#since) {
      const leftMs = since + freshMs - now;
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#watchOld(), Math.ceil(leftMs));
        return;
      }
      source.watch();
    }
  }
}

const freshPipes = new FreshPipes();

/** Call it after each start: the new child no longer holds the pipes of others. */
export function lookForEndsOfPipes(): void {
  freshPipes.lookForEnds();
}

class StreamSource implements OutputSource {
  readonly #socket: Socket;
  readonly #sink: OutputSink;
  readonly #leftover: Leftover;
  #paused = false;
  #restTimer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(socket: Socket, sink: OutputSink, leftover: Leftover) {
    this.#socket = socket;
    this.#sink = sink;
    this.#leftover = leftover;
    // EIO means that the terminal has no users left.
    socket.on("error", () => this.#end());
    socket.on("end", () => this.#end());
    socket.on("close", () => this.#end());
    socket.resume();
  }

  pause(): void {
    this.#paused = true;
    if (!this.#ended) this.#socket.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#readOn();
  }

  /** Stops reading for a moment, so that there is more to read then. */
  rest(): void {
    if (this.#ended || this.#restTimer !== undefined) return;
    this.#socket.pause();
    this.#restTimer = setTimeout(() => {
      this.#restTimer = undefined;
      this.#readOn();
    }, REST_MS);
  }

  finish(): void {
    if (this.#ended) return;
    this.#leftover.drain();
    this.#end();
  }

  /** The event loop already reads it. */
  hurry(): void {}

  #readOn(): void {
    if (!this.#ended && !this.#paused && this.#restTimer === undefined) this.#socket.resume();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#restTimer);
    if (this.#leftover.drainAtEnd) this.#leftover.drain();
    this.#leftover.close?.();
    this.#socket.destroy();
    this.#sink.end();
  }
}

/** Node documents `onread` only for sockets that connect; it works for every socket, but the types do not allow it. */
function intoReadBuffer(fd: number, sink: Pick<OutputSink, "data">): SocketConstructorOpts {
  const callback = (length: number): boolean => {
    sink.data(readBuffer.subarray(0, gather(fd, length)));
    return true;
  };
  return { onread: { buffer: readBuffer, callback } } as SocketConstructorOpts;
}

/**
 * Reads what else is available: the event loop reads only once per turn, at most 4 KiB from a terminal or the last
 * write to a pipe, and one large message costs far less than many small ones. Does not wait. `length` bytes are in the
 * buffer; returns the new number.
 */
function gather(fd: number, length: number): number {
  let total = length;
  for (let reads = 0; reads < MAX_GATHER_READS && total < READ_BYTES; reads += 1) {
    const more = libc().read(fd, readBuffer.subarray(total), READ_BYTES - total);
    // The event loop will see an end or an error again.
    if (more <= 0) break;
    total += more;
  }
  return total;
}

/**
 * Reads what is available without waiting, and returns whether that was the end. Not more than a full pipe holds: what a
 * busy writer adds meanwhile could drive earlier output, not sent yet, out of what is retained.
 */
function drain(fd: number, sink: OutputSink): "end" | "more may come" {
  const capacity = libc().fcntl(fd, F_GETPIPE_SZ, 0);
  const most = capacity > 0 ? capacity : TERMINAL_BYTES;
  for (let total = 0; total < most; ) {
    const length = libc().read(fd, readBuffer, READ_BYTES);
    if (length === 0) return "end";
    if (length < 0) return "more may come";
    total += length;
    sink.data(readBuffer.subarray(0, length));
  }
  return "more may come";
}
