import fc from "fast-check";
import protobuf from "protobufjs";
import { describe, expect, test } from "vitest";
import { readFrame, type RelayFrame, writeFrame } from "./frame.ts";

/** The schema, for a library that knows nothing of this project. */
const { root } = protobuf.parse(
  `syntax = "proto3";
  message Frame {
    uint32 version = 1; string stream_id = 2; uint32 ack = 3; uint32 ack_bits = 4;
    oneof body { Data data = 5; Empty ack_frame = 6; Resume resume = 7; Reset reset = 8; Empty heartbeat = 9; Handshake handshake = 10; }
    optional string traceparent = 11; optional string tracestate = 12;
  }
  message Data { uint32 seq = 1; uint32 segment_index = 2; uint32 segment_count = 3; bytes payload = 4; }
  message Resume { uint32 next_seq = 1; } message Reset { string reason = 1; } message Handshake { bytes payload = 1; }
  message Empty {}`,
  { keepCase: true },
);
const Frame = root.lookupType("Frame");
const encode = (fields: object): Buffer => Buffer.from(Frame.encode(Frame.create(fields)).finish());

const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((array) => Buffer.from(array));
const text = fc.string({ minLength: 1, unit: "grapheme" }).filter((each) => each.trim() !== "");
const frames: fc.Arbitrary<RelayFrame> = fc
  .tuple(
    text,
    fc.oneof(
      fc.record({ kind: fc.constant("data" as const), seq: uint32, payload: bytes }),
      fc.record({ kind: fc.constant("handshake" as const), payload: bytes }),
      fc.record({ kind: fc.constant("reset" as const), reason: text }),
      fc.record({ kind: fc.constant("resume" as const), nextSeq: uint32 }),
      fc.record({ kind: fc.constant("ack" as const), count: uint32 }),
      fc.record({ kind: fc.constant("heartbeat" as const) }),
    ),
  )
  .map(([streamId, body]) => ({ streamId, ...body }));

/** A frame as the library has it. */
function fieldsOf(frame: RelayFrame): object {
  const head = { version: 1, stream_id: frame.streamId };
  switch (frame.kind) {
    case "data":
      return { ...head, data: { seq: frame.seq, segment_count: 1, payload: frame.payload } };
    case "handshake":
      return { ...head, handshake: { payload: frame.payload } };
    case "reset":
      return { ...head, reset: { reason: frame.reason } };
    case "resume":
      return { ...head, resume: { next_seq: frame.nextSeq } };
    case "ack":
      return { ...head, ack: frame.count, ack_frame: {} };
    case "heartbeat":
      return { ...head, heartbeat: {} };
  }
}

test("frames are those of Protocol Buffers", () => {
  fc.assert(
    fc.property(frames, (frame) => {
      expect(writeFrame(frame)).toEqual(encode(fieldsOf(frame)));
      expect(readFrame(encode(fieldsOf(frame)))).toEqual(frame);
    }),
    { numRuns: 300 },
  );
});

test("what is not known yet is skipped", () => {
  const frame = { streamId: "s", kind: "data" as const, seq: 7, payload: Buffer.from("x") };
  const more = { ack: 3, ack_bits: 0xffff_ffff, traceparent: "00-1", tracestate: "a=b" };
  expect(readFrame(encode({ ...fieldsOf(frame), ...more }))).toEqual(frame);
  // Fields 99, of a fixed length, and 15 with a number of 64 bits.
  const fixed = Buffer.from([0x99, 0x06, 1, 2, 3, 4, 5, 6, 7, 8, 0x9d, 0x06, 1, 2, 3, 4]);
  const long = Buffer.from([0x78, ...Array.from({ length: 9 }, () => 0xff), 1]);
  expect(readFrame(Buffer.concat([fixed, long, writeFrame(frame)]))).toEqual(frame);
});

describe("is not a frame:", () => {
  test.each([
    ["another version", { version: 2, stream_id: "s", reset: { reason: "r" } }],
    ["no version", { stream_id: "s", reset: { reason: "r" } }],
    ["no stream", { version: 1, reset: { reason: "r" } }],
    ["a blank stream", { version: 1, stream_id: "  ", reset: { reason: "r" } }],
    ["no body", { version: 1, stream_id: "s" }],
    ["no reason", { version: 1, stream_id: "s", reset: {} }],
    ["an empty handshake", { version: 1, stream_id: "s", handshake: {} }],
    ["an empty record", { version: 1, stream_id: "s", data: { segment_count: 1 } }],
    [
      "a part of a record",
      { version: 1, stream_id: "s", data: { segment_count: 2, payload: Buffer.from("x") } },
    ],
    [
      "a later part",
      { version: 1, stream_id: "s", data: { segment_index: 1, segment_count: 1, payload: Buffer.from("x") } },
    ],
  ])("%s", (_what, fields) => {
    expect(readFrame(encode(fields))).toBeUndefined();
  });

  test.each([
    ["a text that is not UTF-8", Buffer.from([0x08, 1, 0x12, 1, 0xff, 0x4a, 0])],
    ["a field that is cut off", Buffer.from([0x08, 1, 0x12, 5, 0x73])],
    [
      "a length beyond everything",
      Buffer.from([0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
    ],
    ["a number that is cut off", Buffer.from([0x08, 0xff])],
    ["a number without end", Buffer.alloc(20, 0xff)],
    ["a group", Buffer.from([0x0b])],
    ["a field without number", Buffer.from([0x00, 1])],
  ])("%s", (_what, frame) => {
    expect(readFrame(frame)).toBeUndefined();
  });
});

test("no bytes make it fail", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (array) => {
      readFrame(Buffer.from(array));
    }),
    { numRuns: 2_000 },
  );
});
