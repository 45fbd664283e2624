import {
  addBytesHead,
  addNumber,
  bytesField,
  FieldReader,
  numberField,
  ProtobufError,
  text,
} from "./protobuf.ts";

const VERSION = 1;

const FrameField = {
  version: 1,
  streamId: 2,
  count: 3,
  data: 5,
  ack: 6,
  resume: 7,
  reset: 8,
  heartbeat: 9,
  handshake: 10,
  traceparent: 11,
  tracestate: 12,
} as const;
const DataField = { seq: 1, segmentIndex: 2, segmentCount: 3, payload: 4 } as const;
/** Of the other bodies, which have one field. */
const ONLY = 1;

/** One message of the rendezvous: what it is about, and for which stream. */
export type RelayFrame = { readonly streamId: string } & RelayBody;

type RelayBody =
  /** A record of the Noise channel; `seq` counts those of one direction from 0. */
  | { readonly kind: "data"; readonly seq: number; readonly payload: Buffer }
  | { readonly kind: "handshake"; readonly payload: Buffer }
  | { readonly kind: "reset"; readonly reason: string }
  /** The first frame of a harness: the stream is its own. */
  | { readonly kind: "resume"; readonly nextSeq: number }
  /** How many records the sender has taken, in their order. Codex sends none, and ignores them. */
  | { readonly kind: "ack"; readonly count: number }
  /** Both ends ignore it. */
  | { readonly kind: "heartbeat" };

/** Undefined for bytes that are not a valid frame. */
export function readFrame(bytes: Buffer): RelayFrame | undefined {
  try {
    return parse(bytes);
  } catch (error) {
    if (error instanceof ProtobufError) return undefined;
    throw error;
  }
}

function parse(bytes: Buffer): RelayFrame | undefined {
  let version = 0;
  let count = 0;
  let streamId = "";
  let body: RelayBody | undefined;
  for (const field = new FieldReader(bytes); field.next(); ) {
    if (field.bytes === undefined) {
      if (field.number === FrameField.version) version = field.value;
      else if (field.number === FrameField.count) count = field.value;
    } else if (field.number === FrameField.streamId) streamId = text(field.bytes);
    else if (field.number === FrameField.traceparent || field.number === FrameField.tracestate)
      text(field.bytes);
    else {
      const read = readBody(field.number, field.bytes);
      // Readers would merge them, or take the last; nobody sends that.
      if (read !== undefined && body !== undefined) return undefined;
      body ??= read;
    }
  }
  if (version !== VERSION || streamId.trim() === "" || body === undefined || !isValid(body)) return undefined;
  return { streamId, ...body, ...(body.kind === "ack" ? { count } : {}) };
}

function readBody(number: number, bytes: Buffer): RelayBody | undefined {
  switch (number) {
    case FrameField.data:
      return readData(bytes);
    case FrameField.handshake:
      return { kind: "handshake", payload: onlyBytes(bytes) };
    case FrameField.reset:
      return { kind: "reset", reason: text(onlyBytes(bytes)) };
    case FrameField.resume:
      return { kind: "resume", nextSeq: onlyNumber(bytes) };
    case FrameField.ack:
    case FrameField.heartbeat:
      for (const field = new FieldReader(bytes); field.next(); );
      return number === FrameField.ack ? { kind: "ack", count: 0 } : { kind: "heartbeat" };
    default:
      return undefined;
  }
}

/** A record is never split: what says so is not valid. */
function readData(bytes: Buffer): RelayBody {
  let seq = 0;
  let segmentIndex = 0;
  let segmentCount = 0;
  let payload: Buffer = Buffer.alloc(0);
  for (const field = new FieldReader(bytes); field.next(); ) {
    if (field.bytes !== undefined) {
      if (field.number === DataField.payload) payload = field.bytes;
    } else if (field.number === DataField.seq) seq = field.value;
    else if (field.number === DataField.segmentIndex) segmentIndex = field.value;
    else if (field.number === DataField.segmentCount) segmentCount = field.value;
  }
  const isWhole = segmentIndex === 0 && segmentCount === 1;
  return { kind: "data", seq, payload: isWhole ? payload : Buffer.alloc(0) };
}

function onlyBytes(message: Buffer): Buffer {
  let bytes: Buffer = Buffer.alloc(0);
  for (const field = new FieldReader(message); field.next(); )
    if (field.bytes !== undefined && field.number === ONLY) bytes = field.bytes;
  return bytes;
}

function onlyNumber(message: Buffer): number {
  let value = 0;
  for (const field = new FieldReader(message); field.next(); )
    if (field.bytes === undefined && field.number === ONLY) value = field.value;
  return value;
}

function isValid(body: RelayBody): boolean {
  if ("payload" in body) return body.payload.length > 0;
  return body.kind !== "reset" || body.reason !== "";
}

export function writeFrame(frame: RelayFrame): Buffer {
  if (frame.kind === "data") return new RecordWriter(frame.streamId).write(frame.seq, [frame.payload]);
  const [field, body] = bodyOf(frame);
  const count = frame.kind === "ack" ? numberField(FrameField.count, frame.count) : Buffer.alloc(0);
  return Buffer.concat([headOf(frame.streamId), count, bytesField(field, body)]);
}

/** Writes the records of a stream as frames. */
export class RecordWriter {
  readonly #head: Buffer;

  constructor(streamId: string) {
    this.#head = headOf(streamId);
  }

  /** The payload is copied once. */
  write(seq: number, payload: readonly Uint8Array[]): Buffer {
    const length = payload.reduce((sum, part) => sum + part.length, 0);
    const data: number[] = [];
    addNumber(data, DataField.seq, seq);
    addNumber(data, DataField.segmentCount, 1);
    addBytesHead(data, DataField.payload, length);
    const before: number[] = [];
    addBytesHead(before, FrameField.data, data.length + length);
    return Buffer.concat([this.#head, Buffer.from(before.concat(data)), ...payload]);
  }
}

function headOf(streamId: string): Buffer {
  return Buffer.concat([
    numberField(FrameField.version, VERSION),
    bytesField(FrameField.streamId, Buffer.from(streamId)),
  ]);
}

function bodyOf(body: Exclude<RelayBody, { readonly kind: "data" }>): [number, Buffer] {
  switch (body.kind) {
    case "handshake":
      return [FrameField.handshake, bytesField(ONLY, body.payload)];
    case "reset":
      return [FrameField.reset, bytesField(ONLY, Buffer.from(body.reason))];
    case "resume":
      return [FrameField.resume, numberField(ONLY, body.nextSeq)];
    case "ack":
      return [FrameField.ack, Buffer.alloc(0)];
    case "heartbeat":
      return [FrameField.heartbeat, Buffer.alloc(0)];
  }
}
