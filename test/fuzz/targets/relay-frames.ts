import { expectedFrame } from "../relay-schema.ts";
import { readFrame, type RelayFrame, writeFrame } from "../../../src/relay/frame.ts";
import { SeededRandom } from "../../fault/seeded-random.ts";
import { Choices } from "../choices.ts";
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

const NUMBERS = [
  0n,
  1n,
  3n,
  127n,
  128n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 32n + 1n,
  2n ** 53n + 1n,
  2n ** 64n - 1n,
];
const TEXTS = ["s", "gr\u00f6\u00dfe", " ", "", Buffer.from([0xff])];
const BODIES = [5, 6, 7, 8, 9, 10];
const FIELDS = [1, 2, 3, 4, 11, 12, 13, 99, 2 ** 29 - 1];
const [VARINT, FIXED_64, BYTES, FIXED_32] = [0, 1, 2, 5];

/** In more bytes than it needs, if there is padding. */
function varint(value: bigint, padding: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; bytes.length === 0 || rest > 0n; rest >>= 7n) bytes.push(Number(rest & 0x7fn));
  for (let more = 0; more < padding && bytes.length < 10; more += 1) bytes.push(0);
  return Buffer.from(bytes.map((byte, at) => (at < bytes.length - 1 ? byte | 0x80 : byte)));
}

/** A field, rarely of a type that it should not have, or with a number of more than 32 bits. */
function field(choices: Choices, number: number, natural: number, content: () => Buffer): Buffer {
  const odd = choices.below(32);
  const type = odd < 4 ? [VARINT, FIXED_64, BYTES, FIXED_32][odd]! : natural;
  const extra = odd === 4 ? 2n ** 32n : odd === 5 ? 2n ** 35n : 0n;
  const tag = varint(BigInt(number * 8 + type) + extra, odd === 6 ? choices.below(10) : 0);
  if (type === VARINT)
    return Buffer.concat([tag, varint(choices.pick(NUMBERS), choices.below(32) === 31 ? 3 : 0)]);
  if (type !== BYTES) return Buffer.concat([tag, Buffer.alloc(type === FIXED_64 ? 8 : 4, 1)]);
  const bytes = content();
  return Buffer.concat([tag, varint(BigInt(bytes.length), choices.below(32) === 31 ? 2 : 0), bytes]);
}

/** A message that is mostly a frame: version, stream, a body, and something more. */
function built(choices: Choices): Buffer {
  const text = (): Buffer => Buffer.from(choices.pick(TEXTS) as string);
  const inner = (): Buffer =>
    Buffer.concat(
      Array.from({ length: choices.below(5) }, () => {
        const number = 1 + choices.below(4);
        return field(choices, number, choices.pick([VARINT, BYTES]), text);
      }),
    );
  const parts: Buffer[] = [Buffer.from([0x08, 1, 0x12, 1, 0x73])];
  for (let more = 1 + choices.below(3); more > 0; more -= 1) {
    const isBody = choices.below(4) < 3;
    const number = choices.pick(isBody ? BODIES : FIELDS);
    parts.push(
      isBody
        ? field(choices, number, BYTES, inner)
        : field(choices, number, choices.pick([VARINT, BYTES]), text),
    );
  }
  return Buffer.concat(choices.below(8) === 7 ? parts.toReversed() : parts);
}

const AS_IT_IS = Buffer.from([0]);

/** The first byte of an input says whether the rest is a message, or decisions about one. */
export const target: Target = {
  seeds: [
    ...FRAMES.map((frame) => Buffer.concat([AS_IT_IS, writeFrame(frame)])),
    ...Array.from({ length: 8 }, (_, at) =>
      Buffer.concat([Buffer.from([1]), new SeededRandom(at).bytes(30)]),
    ),
  ],
  maxBytes: 200,
  run(input) {
    const choices = new Choices(input);
    const bytes = choices.below(2) === 0 ? choices.rest() : built(choices);
    const frame = readFrame(bytes);
    expectEqual(frame, expectedFrame(bytes), "what it means to Protocol Buffers");
    if (frame !== undefined) expectEqual(readFrame(writeFrame(frame)), frame, "written and read");
  },
};
