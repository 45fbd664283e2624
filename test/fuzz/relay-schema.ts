import { isUtf8 } from "node:buffer";
import protobuf from "protobufjs";
import type { RelayFrame } from "../../src/relay/frame.ts";

/** Texts are bytes here: what is not UTF-8 is an error of Protocol Buffers that this library does not report. */
const { root } = protobuf.parse(
  `syntax = "proto3";
  message Frame {
    uint32 version = 1; bytes stream_id = 2; uint32 ack = 3; uint32 ack_bits = 4;
    oneof body { Data data = 5; Empty ack_frame = 6; Resume resume = 7; Reset reset = 8; Empty heartbeat = 9; Handshake handshake = 10; }
    optional bytes traceparent = 11; optional bytes tracestate = 12;
  }
  message Data { uint32 seq = 1; uint32 segment_index = 2; uint32 segment_count = 3; bytes payload = 4; }
  message Resume { uint32 next_seq = 1; } message Reset { bytes reason = 1; } message Handshake { bytes payload = 1; }
  message Empty { uint32 unused = 536870911; }
  message Repeated { repeated bytes stream_id = 2; repeated bytes traceparent = 11; repeated bytes tracestate = 12;
    repeated Data data = 5; repeated Empty ack_frame = 6; repeated Resume resume = 7;
    repeated Reset reset = 8; repeated Empty heartbeat = 9; repeated Handshake handshake = 10; }`,
  { keepCase: true },
);
/**
 * The library skips numbers of any length, where Protocol Buffers allow ten bytes. Groups, which nobody has used for
 * long, are not read here.
 */
const reader = protobuf.Reader.prototype as unknown as {
  skipType: (this: protobuf.Reader, type: number, ...rest: never[]) => protobuf.Reader;
  tag: (this: protobuf.Reader) => number;
};
const { skipType } = reader;
reader.skipType = function skip(type, ...rest) {
  if (type === 3 || type === 4) throw new Error("a group");
  const { pos } = this;
  if (type === 0) this.uint64();
  this.pos = pos;
  return skipType.call(this, type, ...rest);
};
/** The library takes five bytes for a tag, where Protocol Buffers allow ten. */
reader.tag = function tag() {
  const value = Number(this.uint64());
  if (value >= 2 ** 32 || value < 8) throw new Error("a field has no number");
  return value;
};

const Frame = root.lookupType("Frame");
/** The same frame, if each field could be there more than once. */
const Repeated = root.lookupType("Repeated");
const TEXT_NAMES = ["stream_id", "traceparent", "tracestate"];
const BODY_NAMES = ["data", "ack_frame", "resume", "reset", "heartbeat", "handshake"];

/** Absent bytes are an empty array, or null. */
type Bytes = Uint8Array | readonly [] | null;
const bytesOf = (bytes: Bytes): Buffer => Buffer.from(bytes ?? []);
const textOf = (bytes: Bytes): string => bytesOf(bytes).toString("utf8");

interface Decoded {
  readonly version: number;
  readonly ack: number;
  readonly stream_id: Bytes;
  readonly body?: "data" | "ack_frame" | "resume" | "reset" | "heartbeat" | "handshake";
  readonly data: { seq: number; segment_index: number; segment_count: number; payload: Bytes };
  readonly resume: { next_seq: number };
  readonly reset: { reason: Bytes };
  readonly handshake: { payload: Bytes };
}

/** What a frame means, as the library and the rules of the protocol have it. */
export function expectedFrame(bytes: Buffer): RelayFrame | undefined {
  let decoded: Decoded;
  let repeated: Record<string, readonly Bytes[]>;
  try {
    decoded = Frame.decode(bytes) as unknown as Decoded;
    repeated = Repeated.decode(bytes) as object as typeof repeated;
  } catch {
    return undefined;
  }
  const { version, stream_id, body, data, resume, reset, handshake } = decoded;
  const streamId = textOf(stream_id);
  const texts = TEXT_NAMES.flatMap((name) => repeated[name]!);
  const bodies = BODY_NAMES.flatMap((name) => repeated[name]!);
  if (version !== 1 || streamId.trim() === "" || bodies.length !== 1) return undefined;
  if (![...texts, ...(body === "reset" ? [reset.reason] : [])].every((each) => isUtf8(bytesOf(each))))
    return undefined;
  switch (body) {
    case "data": {
      const { seq, segment_index, segment_count } = data;
      const payload = bytesOf(data.payload);
      const isWhole = segment_index === 0 && segment_count === 1 && payload.length > 0;
      return isWhole ? { streamId, kind: "data", seq, payload } : undefined;
    }
    case "handshake": {
      const payload = bytesOf(handshake.payload);
      return payload.length > 0 ? { streamId, kind: "handshake", payload } : undefined;
    }
    case "reset": {
      const reason = textOf(reset.reason);
      return reason === "" ? undefined : { streamId, kind: "reset", reason };
    }
    case "resume":
      return { streamId, kind: "resume", nextSeq: resume.next_seq };
    case "ack_frame":
      return { streamId, kind: "ack", count: decoded.ack };
    case "heartbeat":
      return { streamId, kind: "heartbeat" };
    case undefined:
      return undefined;
  }
}
