import { expectedFrame } from "../relay-schema.ts";
import { readFrame, type RelayFrame, writeFrame } from "../../../src/relay/frame.ts";
import { expectEqual, type Target } from "../target.ts";

const streamId = "s";
const FRAMES: readonly RelayFrame[] = [
  { streamId, kind: "data", seq: 3, payload: Buffer.from("payload") },
  { streamId: "gr\u00f6\u00dfe", kind: "handshake", payload: Buffer.from([0xff]) },
  { streamId, kind: "reset", reason: "why" },
  { streamId, kind: "resume", nextSeq: 2 ** 32 - 1 },
  { streamId, kind: "ack", count: 128 },
  { streamId, kind: "heartbeat" },
];

/** Fields that others may add: numbers of many bytes, fixed lengths, texts, groups. */
const FIELDS = [
  "0801",
  "088180808010",
  "0881808080808001",
  "08ffffffffffffffffff01",
  "1a0101",
  "2000",
  "5a0131",
  "620161",
  "9d0101010101",
  "790000000000000000",
  "7b7c",
  "1801",
  "1000",
  "3202",
  "c2808080800100",
  "8080808010",
  "81808080808080808001",
];

export const target: Target = {
  seeds: [
    ...FRAMES.map((frame) => writeFrame(frame)),
    Buffer.concat(FRAMES.map((frame) => writeFrame(frame))),
  ],
  words: FIELDS.map((field) => Buffer.from(field, "hex")),
  maxBytes: 200,
  run(input) {
    const frame = readFrame(input);
    expectEqual(frame, expectedFrame(input), "what it means to Protocol Buffers");
    if (frame !== undefined) expectEqual(readFrame(writeFrame(frame)), frame, "written and read");
  },
};
