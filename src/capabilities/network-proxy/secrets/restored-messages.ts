import { Transform, type TransformCallback } from "node:stream";
import { Replacer, type Restoring } from "./replacement.ts";

/** Part of a frame that is collected before it is passed on. Larger frames are passed on as fragments. */
const MAX_COLLECTED_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 14;
const FIN = 0x80;
const CONTINUATION = 0;
const CONTROL = 8;

interface Frame {
  readonly opcode: number;
  readonly isFinal: boolean;
  /** Bytes that have not come yet. */
  left: number;
}

/**
 * Replaces in the messages of a WebSocket, from a server, however they are cut into frames: what could be half a secret
 * waits for the next fragment of its message, and is passed on with the last one. Frames are cut anew.
 */
export class RestoredMessages extends Transform {
  readonly #restoring: Restoring;
  /** The message of which fragments have come. */
  #message: Replacer | undefined;
  /** Opcode of its next frame. */
  #opcode = CONTINUATION;
  /** What of it has to be passed on. */
  #ready: Buffer[] = [];
  #readyBytes = 0;
  #control: Buffer[] = [];
  #frame: Frame | undefined;
  #header: Buffer = Buffer.alloc(0);

  constructor(restoring: Restoring) {
    super();
    this.#restoring = restoring;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    try {
      for (let rest = chunk; rest.length > 0; )
        rest = this.#frame === undefined ? this.#begin(rest) : this.#take(rest, this.#frame);
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  /** Reads the head of a frame. Returns what follows it. */
  #begin(bytes: Buffer): Buffer {
    const known = Buffer.concat([this.#header, bytes.subarray(0, MAX_HEADER_BYTES)]);
    const head = parseHead(known);
    if (head === undefined) {
      this.#header = known;
      return bytes.subarray(MAX_HEADER_BYTES);
    }
    const rest = bytes.subarray(head.length - this.#header.length);
    this.#header = Buffer.alloc(0);
    const { frame } = head;
    this.#frame = frame;
    if (frame.opcode < CONTROL) this.#beginData(frame.opcode);
    if (frame.left === 0) this.#end(frame);
    return rest;
  }

  #beginData(opcode: number): void {
    if ((opcode === CONTINUATION) !== (this.#message !== undefined))
      throw new Error("a fragment of a WebSocket message is out of place");
    if (opcode === CONTINUATION) return;
    this.#message = new Replacer(this.#restoring);
    this.#opcode = opcode;
  }

  /** Takes what belongs to the frame. Returns what follows it. */
  #take(bytes: Buffer, frame: Frame): Buffer {
    const part = bytes.subarray(0, frame.left);
    frame.left -= part.length;
    if (frame.opcode >= CONTROL) this.#control.push(Buffer.from(part));
    else {
      this.#add(this.#message!.push(part));
      if (this.#readyBytes >= MAX_COLLECTED_BYTES) this.#send(false);
    }
    if (frame.left === 0) this.#end(frame);
    return bytes.subarray(part.length);
  }

  #add(bytes: Buffer): void {
    if (bytes.length === 0) return;
    // It may be memory of the socket.
    this.#ready.push(Buffer.from(bytes));
    this.#readyBytes += bytes.length;
  }

  #end({ opcode, isFinal }: Frame): void {
    this.#frame = undefined;
    if (opcode >= CONTROL) {
      const whole = new Replacer(this.#restoring);
      const payload = Buffer.concat([whole.push(Buffer.concat(this.#control)), whole.flush()]);
      this.#control = [];
      this.push(Buffer.concat([headOf(FIN | opcode, payload.length), payload]));
    } else if (isFinal) {
      this.#add(this.#message!.flush());
      this.#message = undefined;
      this.#send(true);
    } else if (this.#readyBytes > 0) this.#send(false);
  }

  #send(isFinal: boolean): void {
    this.push(headOf((isFinal ? FIN : 0) | this.#opcode, this.#readyBytes));
    for (const bytes of this.#ready) this.push(bytes);
    this.#opcode = CONTINUATION;
    this.#ready = [];
    this.#readyBytes = 0;
  }
}

/** Undefined if bytes are missing. Throws for a frame that cannot be looked into, or that no server may send. */
function parseHead(bytes: Buffer): { readonly frame: Frame; readonly length: number } | undefined {
  if (bytes.length < 2) return undefined;
  const [first, second] = [bytes[0]!, bytes[1]!];
  // Extensions are not negotiated, and only clients mask.
  if ((first & 0x70) !== 0 || (second & 0x80) !== 0)
    throw new Error("a WebSocket frame cannot be looked into");
  const opcode = first & 0x0f;
  const isFinal = (first & FIN) !== 0;
  const size = second & 0x7f;
  if (opcode >= CONTROL && (size > 125 || !isFinal)) throw new Error("a WebSocket control frame is invalid");
  if (opcode > 2 && opcode < CONTROL) throw new Error("a WebSocket frame has an unknown kind");
  const length = size < 126 ? 2 : size === 126 ? 4 : 10;
  if (bytes.length < length) return undefined;
  const left = size < 126 ? size : size === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  return { frame: { opcode, isFinal, left }, length };
}

function headOf(first: number, size: number): Buffer {
  if (size < 126) return Buffer.from([first, size]);
  const head = Buffer.alloc(size < 65_536 ? 4 : 10);
  head[0] = first;
  head[1] = size < 65_536 ? 126 : 127;
  if (size < 65_536) head.writeUInt16BE(size, 2);
  else head.writeBigUInt64BE(BigInt(size), 2);
  return head;
}
