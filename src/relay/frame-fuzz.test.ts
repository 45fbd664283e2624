import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import protobuf from "protobufjs";
import { expect, test } from "vitest";
import { readFrame, type RelayFrame, writeFrame } from "./frame.ts";

/** FUZZ_RUNS=1000000 is the long form; FAULT_SEED repeats a run. */
const numRuns = Number(process.env["FUZZ_RUNS"] ?? 3_000);
const seed = Number(process.env["FAULT_SEED"] ?? 20_260_822);

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
function expected(bytes: Buffer): RelayFrame | undefined {
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

function varint(value: bigint, padding = 0): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  bytes.push(Number(rest));
  // The same number, in more bytes than it needs.
  for (let more = 0; more < padding && bytes.length < 10; more += 1) {
    bytes[bytes.length - 1]! |= 0x80;
    bytes.push(0);
  }
  return Buffer.from(bytes);
}

const numbers = fc.oneof(
  fc.bigInt({ min: 0n, max: 3n }),
  fc.constantFrom(0x7fn, 0x80n, 0xffff_ffffn, 0x1_0000_0000n, 0x1_0000_0001n, 2n ** 53n + 1n, 2n ** 64n - 1n),
);
const encoded = fc.tuple(numbers, fc.nat({ max: 3 })).map(([value, padding]) => varint(value, padding));
const contents = fc.oneof(
  fc.constantFrom(
    Buffer.from("s"),
    Buffer.from("größe"),
    Buffer.from(" "),
    Buffer.alloc(0),
    Buffer.from([0xff]),
  ),
  fc.uint8Array({ maxLength: 8, size: "max" }).map((array) => Buffer.from(array)),
);

/** One field, rarely of a type that it should not have. */
function field(number: number, inner: fc.Arbitrary<Buffer>, natural: 0 | 2): fc.Arbitrary<Buffer> {
  const of = (type: number, value: fc.Arbitrary<Buffer>) =>
    value.map((bytes) => Buffer.concat([varint(BigInt(number * 8 + type)), bytes]));
  const prefixed = inner.map((bytes) => Buffer.concat([varint(BigInt(bytes.length)), bytes]));
  const fixed = (length: number) => fc.constant(Buffer.alloc(length, 1));
  const right = natural === 0 ? of(0, encoded) : of(2, prefixed);
  return fc.oneof(
    { arbitrary: right, weight: 30 },
    { arbitrary: fc.oneof(of(0, encoded), of(2, prefixed), of(1, fixed(8)), of(5, fixed(4))), weight: 1 },
  );
}

const joined = (fields: fc.Arbitrary<Buffer>, maxLength: number): fc.Arbitrary<Buffer> =>
  fc.array(fields, { maxLength, size: "max" }).map((parts) => Buffer.concat(parts));
const unknown = fc.constantFrom(13, 15, 16, 99, 2 ** 29 - 1).chain((number) => field(number, contents, 0));
const dataBody = fc.oneof(
  {
    arbitrary: fc
      .tuple(field(1, contents, 0), field(4, contents, 2))
      .map((fields) => Buffer.concat([...fields, Buffer.from([0x18, 1])])),
    weight: 3,
  },
  joined(
    fc.oneof(
      field(1, contents, 0),
      field(2, contents, 0),
      field(3, contents, 0),
      field(4, contents, 2),
      unknown,
    ),
    5,
  ),
);
const onlyBytes = joined(fc.oneof(field(1, contents, 2), unknown), 2);
const onlyNumber = joined(fc.oneof(field(1, contents, 0), unknown), 2);
const nothing = joined(unknown, 1);
const bodies = fc.oneof(
  { arbitrary: field(5, dataBody, 2), weight: 4 },
  field(6, nothing, 2),
  field(7, onlyNumber, 2),
  field(8, onlyBytes, 2),
  field(9, nothing, 2),
  field(10, onlyBytes, 2),
);
const head = Buffer.from([0x08, 1, 0x12, 1, 0x73]);
const extra = fc.oneof(
  field(1, contents, 0),
  field(2, contents, 2),
  fc.constantFrom(3, 4).chain((number) => field(number, contents, 0)),
  fc.constantFrom(11, 12).chain((number) => field(number, contents, 2)),
  bodies,
  unknown,
);
const messages = fc
  .tuple(
    fc.option(fc.constant(head), { freq: 10 }),
    fc.option(bodies, { freq: 10 }),
    joined(extra, 2),
    fc.boolean(),
  )
  .map(([start, body, more, isFirst]) => {
    const parts = isFirst ? [more, start, body] : [start, body, more];
    return Buffer.concat(parts.filter((part) => part !== null));
  });

/** Changes, cuts or repeats a part of a message. */
const damaged = fc
  .tuple(messages, fc.nat(), fc.integer({ min: 1, max: 255 }), fc.constantFrom("flip", "cut", "repeat"))
  .map(([message, place, bits, how]) => {
    const at = message.length === 0 ? 0 : place % message.length;
    const copy = Buffer.from(message);
    if (how === "flip" && copy.length > 0) copy[at]! ^= bits;
    if (how === "cut") return copy.subarray(0, at);
    return how === "repeat" ? Buffer.concat([copy, copy.subarray(at)]) : copy;
  });

const timeout = 30_000 + numRuns;

test("frames mean what they mean to Protocol Buffers", { timeout }, () => {
  let valid = 0;
  fc.assert(
    fc.property(fc.oneof(messages, damaged), (bytes) => {
      const frame = readFrame(bytes);
      if (frame !== undefined) {
        valid += 1;
        expect(readFrame(writeFrame(frame))).toEqual(frame);
      }
      expect(frame).toEqual(expected(bytes));
    }),
    { numRuns, seed },
  );
  // Not only rubbish was compared.
  expect(valid).toBeGreaterThan(numRuns / 10);
});
