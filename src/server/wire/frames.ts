import type { Readable, Writable } from "node:stream";

/**
 * Messages between the server and its own helper programs: a file helper, or another user's server. Each has a header
 * of fixed size, JSON text, and bytes that neither side needs to inspect, such as a file's contents on the way in and
 * an encoded result on the way out.
 */
export interface Frame {
  readonly kind: FrameKind;
  /** Number of the call or ping; 0 if the frame belongs to none. */
  readonly id: number;
  readonly text: string;
  readonly bytes: readonly Buffer[];
}

export type FrameKind = (typeof KINDS)[number];

const KINDS = [
  "ready",
  "request",
  "result",
  "failure",
  "notification",
  "ping",
  "pong",
  "message",
  "close",
  "destroy",
  "open",
] as const;

const HEADER_BYTES = 16;
/** Copying this much costs less than another part of a write. */
const MAX_COPIED_BYTES = 16 * 1024;
/** The size of the longest message. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;
/** More than the largest answer. */
const MAX_BYTES = 1024 * 1024 * 1024;

export interface FrameEvents {
  /** The next frame is read when the promise resolves. */
  frame(frame: Frame): Promise<void> | undefined;
  /** Called for each frame before it is taken. A large one is taken when the promise resolves. Throws to refuse it. */
  admit?(head: FrameHead): Promise<void> | undefined;
}

export interface FrameHead {
  readonly kind: FrameKind;
  readonly id: number;
  /** Length of its text and bytes. */
  readonly length: number;
}

/** What a frame carries. */
export interface FrameContent {
  readonly id?: number;
  readonly text?: string;
  readonly bytes?: readonly Uint8Array[];
}

/** A message, which stays text if it is short: that takes less work at both ends. */
export function contentOf(message: string | Uint8Array): FrameContent {
  if (typeof message !== "string") return { bytes: [message] };
  return message.length <= MAX_COPIED_BYTES ? { text: message } : { bytes: [Buffer.from(message)] };
}

/** `flushed` is called when the frame is with the operating system, or the output has ended. */
export function writeFrame(
  output: Pick<Writable, "cork" | "uncork" | "write">,
  kind: FrameKind,
  { id = 0, text = "", bytes = [] }: FrameContent = {},
  flushed?: () => void,
): void {
  const textBytes = Buffer.byteLength(text);
  const length = bytes.reduce((sum, part) => sum + part.length, 0);
  const isCopied = length <= MAX_COPIED_BYTES;
  const head = Buffer.allocUnsafe(HEADER_BYTES + textBytes + (isCopied ? length : 0));
  head.writeUInt32LE(id, 0);
  head.writeUInt32LE(KINDS.indexOf(kind), 4);
  head.writeUInt32LE(textBytes, 8);
  head.writeUInt32LE(length, 12);
  head.write(text, HEADER_BYTES);
  if (isCopied) {
    let at = HEADER_BYTES + textBytes;
    for (const part of bytes) {
      head.set(part, at);
      at += part.length;
    }
    output.write(head, flushed);
    return;
  }
  output.cork();
  output.write(head);
  for (const part of bytes) if (part.length > 0) output.write(part);
  // It is with the system when everything before it is.
  if (flushed !== undefined) output.write("", flushed);
  output.uncork();
}

/** Takes frames apart as they arrive. */
export class FrameReader {
  readonly #events: FrameEvents;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #text = new Collector();
  #bytes = new Collector();

  constructor(events: FrameEvents) {
    this.#events = events;
  }

  /** Returns a promise if the rest has to wait: do not call it again before that has settled. Throws for garbage. */
  read(chunk: Buffer): Promise<void> | undefined {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#headerBytes < HEADER_BYTES) {
        const taken = rest.copy(this.#header, this.#headerBytes);
        this.#headerBytes += taken;
        rest = rest.subarray(taken);
        if (this.#headerBytes < HEADER_BYTES) return undefined;
        const admitted = this.#begin();
        if (admitted !== undefined) return admitted.then(() => this.#finishThenRead(rest));
      } else {
        rest = this.#bytes.take(this.#text.take(rest));
      }
      const taken = this.#finish();
      if (taken !== undefined) return taken.then(() => this.read(rest));
    }
    return undefined;
  }

  /** A frame may be its header alone. */
  async #finishThenRead(rest: Buffer): Promise<void> {
    await this.#finish();
    await this.read(rest);
  }

  #begin(): Promise<void> | undefined {
    const text = this.#header.readUInt32LE(8);
    const bytes = this.#header.readUInt32LE(12);
    const kind = this.#kind;
    if (kind === undefined || text > MAX_TEXT_BYTES || bytes > MAX_BYTES)
      throw new Error("it sent something that is not a frame");
    this.#text = new Collector(text);
    this.#bytes = new Collector(bytes);
    return this.#events.admit?.({ kind, id: this.#header.readUInt32LE(0), length: text + bytes });
  }

  get #kind(): FrameKind | undefined {
    return KINDS[this.#header.readUInt32LE(4)];
  }

  #finish(): Promise<void> | undefined {
    if (this.#text.missing > 0 || this.#bytes.missing > 0) return undefined;
    this.#headerBytes = 0;
    const kind = this.#kind!;
    const { parts } = this.#text;
    const text = parts.length === 0 ? "" : (parts.length === 1 ? parts[0]! : Buffer.concat(parts)).toString();
    return this.#events.frame({ kind, id: this.#header.readUInt32LE(0), text, bytes: this.#bytes.parts });
  }
}

/** Reads frames from a stream, which pauses while one has to wait. `failed` gets what reading throws. */
export function readFrames(
  input: Readable,
  events: FrameEvents,
  failed: (error: unknown) => void = rethrow,
): void {
  const reader = new FrameReader(events);
  input.on("data", (chunk: Buffer) => {
    try {
      const waiting = reader.read(chunk);
      if (waiting === undefined) return;
      input.pause();
      waiting.then(() => void input.resume(), failed);
    } catch (error) {
      failed(error);
    }
  });
}

/** The other end is this program's own, so a fault is one of this program. */
function rethrow(error: unknown): never {
  throw error;
}

class Collector {
  readonly parts: Buffer[] = [];
  missing: number;

  constructor(missing = 0) {
    this.missing = missing;
  }

  /** Returns what does not belong to it. */
  take(chunk: Buffer): Buffer {
    if (this.missing === 0) return chunk;
    const part = chunk.subarray(0, this.missing);
    this.parts.push(part);
    this.missing -= part.length;
    return chunk.subarray(part.length);
  }
}
