import { type Frame, FrameReader, writeFrame } from "../../../src/server/wire/frames.ts";
import { withPlan } from "../choices.ts";
import { chunksOf, expectEqual, type Target } from "../target.ts";

const KINDS = 11;
const HEADER_BYTES = 16;
const MAX_TEXT_BYTES = 64 * 1024 * 1024;
const MAX_BYTES = 1024 * 1024 * 1024;
const PLAN_BYTES = 16;

interface Read {
  readonly frames: readonly (Omit<Frame, "kind" | "bytes"> & {
    readonly kind: unknown;
    readonly bytes: string;
  })[];
  readonly isRefused: boolean;
}

const kinds = [
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
];

function expected(bytes: Buffer): Read {
  const frames = [];
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const [id, kind, text, rest] = [0, 4, 8, 12].map((offset) => bytes.readUInt32LE(at + offset)) as [
      number,
      number,
      number,
      number,
    ];
    if (kind >= KINDS || text > MAX_TEXT_BYTES || rest > MAX_BYTES) return { frames, isRefused: true };
    const start = at + HEADER_BYTES;
    at = start + text + rest;
    if (at > bytes.length) break;
    frames.push({
      id,
      kind: kinds[kind],
      text: bytes.toString("utf8", start, start + text),
      bytes: bytes.toString("latin1", start + text, at),
    });
  }
  return { frames, isRefused: false };
}

async function read(chunks: readonly Buffer[], waits: boolean): Promise<Read> {
  const frames: Read["frames"][number][] = [];
  const reader = new FrameReader({
    frame: ({ bytes, ...frame }) => {
      frames.push({ ...frame, bytes: Buffer.concat(bytes).toString("latin1") });
      return waits ? Promise.resolve() : undefined;
    },
    admit: () => (waits ? Promise.resolve() : undefined),
  });
  try {
    for (const chunk of chunks) {
      const waiting = reader.read(chunk);
      if (waiting !== undefined) await waiting;
    }
  } catch (error) {
    if ((error as Error).message !== "it sent something that is not a frame") throw error;
    return { frames, isRefused: true };
  }
  return { frames, isRefused: false };
}

function frame(kind: Frame["kind"], id: number, text: string, ...bytes: Uint8Array[]): Buffer {
  const written: Buffer[] = [];
  const output = { cork: () => {}, uncork: () => {}, write: (part: Buffer) => written.push(part) };
  writeFrame(output as never, kind, { id, text, bytes });
  return Buffer.concat(written);
}

/** Frames arrive as they were sent, in whatever pieces. The first bytes of an input say which. */
export const target: Target = {
  seeds: [
    Buffer.concat([
      Buffer.alloc(PLAN_BYTES),
      frame("ready", 0, ""),
      frame("request", 7, '{"a":1}', Buffer.from("bytes")),
    ]),
    Buffer.concat([
      Buffer.from([3, 5, 5, 0, 0, 2, 9, 9, 1, 1, 1, 1, 1, 1, 1, 1]),
      frame("message", 1, "\u00fc", Buffer.alloc(100)),
      frame("pong", 2 ** 32 - 1, "x"),
    ]),
  ],
  words: [
    Buffer.from([0, 0, 0, 4]),
    Buffer.from([1, 0, 0, 4]),
    Buffer.from([0, 0, 0, 64]),
    Buffer.from([1, 0, 0, 64]),
    Buffer.from([10, 0, 0, 0]),
    Buffer.from([11, 0, 0, 0]),
  ],
  async run(input) {
    const { plan, bytes } = withPlan(input, PLAN_BYTES);
    const waits = plan.below(2) === 1;
    expectEqual(await read(chunksOf(bytes, plan), waits), expected(bytes), "the frames");
  },
};
