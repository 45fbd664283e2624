import { expect, test } from "vitest";
import { FrameKind, HEADER_BYTES, numberedFrame } from "./frames.ts";
import { Incoming, WINDOW_BYTES } from "./incoming.ts";

const MIN_PIECE_BYTES = 16 * 1024;

test("a paused reader takes one window in all, to the byte, and nothing beyond it", () => {
  const { incoming } = open();
  const half = frame({ at: 0, bytes: WINDOW_BYTES / 2 });
  expect(incoming.take(half)).toBe("taken");
  const rest = WINDOW_BYTES / 2;
  expect(incoming.take(frame({ at: half.length, bytes: rest + 1 }))).toBe("violation");
  expect(incoming.take(frame({ at: half.length, bytes: rest }))).toBe("taken");
  expect(incoming.progress).toEqual({ received: WINDOW_BYTES, limit: WINDOW_BYTES });
  expect(incoming.take(frame({ at: WINDOW_BYTES, bytes: HEADER_BYTES }))).toBe("violation");
});

test("what has been read makes room in the window for as much again", () => {
  const { incoming, messages } = open();
  const whole = frame({ at: 0, bytes: WINDOW_BYTES });
  incoming.take(whole);
  incoming.resume();
  expect(messages).toEqual([WINDOW_BYTES - HEADER_BYTES]);
  expect(incoming.progress).toEqual({ received: WINDOW_BYTES, limit: 2 * WINDOW_BYTES });
  incoming.pause();
  expect(incoming.take(frame({ at: WINDOW_BYTES, bytes: WINDOW_BYTES + 1 }))).toBe("violation");
  expect(incoming.take(frame({ at: WINDOW_BYTES, bytes: WINDOW_BYTES }))).toBe("taken");
});

test("a frame that was refused does not count as received", () => {
  const { incoming, messages } = open();
  incoming.resume();
  for (const refused of [
    frame({ at: 0, bytes: WINDOW_BYTES + 1 }),
    frame({ at: 1, bytes: HEADER_BYTES }),
    frame({ kind: FrameKind.piece, at: 0, bytes: HEADER_BYTES + MIN_PIECE_BYTES - 1 }),
  ])
    incoming.take(refused);
  expect(incoming.progress).toEqual({ received: 0, limit: WINDOW_BYTES });
  expect(messages).toEqual([]);
});

test.each([
  ["taken", 0],
  ["violation", -1],
] as const)("a piece is %s if it is %i bytes longer than the shortest one", (arrival, more) => {
  const { incoming } = open();
  const bytes = HEADER_BYTES + MIN_PIECE_BYTES + more;
  expect(incoming.take(frame({ kind: FrameKind.piece, at: 0, bytes }))).toBe(arrival);
});

test("a message that stops the reader is the last one", () => {
  const { incoming, messages } = open({ message: () => incoming.stop() });
  incoming.take(frame({ at: 0, bytes: 100 }));
  incoming.take(frame({ at: 100, bytes: 100 }));
  incoming.resume();
  expect(messages).toEqual([100 - HEADER_BYTES]);
});

test("a message that resumes the reader does not change the order of those behind it", () => {
  const { incoming, messages } = open({
    message: () => {
      incoming.pause();
      incoming.resume();
    },
  });
  for (const [index, bytes] of [30, 40, 50].entries())
    incoming.take(frame({ at: [0, 30, 70][index]!, bytes }));
  incoming.resume();
  expect(messages.map((length) => length + HEADER_BYTES)).toEqual([30, 40, 50]);
});

test.each([
  [1_000, ["1000", "0"]],
  [1_001, ["too long"]],
])("of %i bytes and a limit of 1000, the reader gets %j", (bytes, expected) => {
  const { incoming, seen } = open({ maxMessageBytes: 1_000 });
  incoming.resume();
  incoming.take(frame({ at: 0, bytes: HEADER_BYTES + bytes }));
  incoming.take(frame({ at: HEADER_BYTES + bytes, bytes: HEADER_BYTES }));
  expect(seen).toEqual(expected);
});

test.each([
  ["a code and a reason", Buffer.from([0x0f, 0xab, 0x6e, 0x6f]), "end 4011 no"],
  ["a code", Buffer.from([0x03, 0xe8]), "end 1000 "],
  ["less than a code", Buffer.from([0x03]), "end 0 "],
])("nothing is delivered behind an end with %s", (_, body, expected) => {
  const { incoming, seen } = open();
  incoming.resume();
  const end = frame({ kind: FrameKind.end, at: 0, bytes: HEADER_BYTES + body.length });
  body.copy(end, HEADER_BYTES);
  incoming.take(end);
  incoming.take(frame({ at: end.length, bytes: HEADER_BYTES + 7 }));
  expect(seen).toEqual([expected]);
});

test("a message in pieces is delivered with its last one, and the next starts again", () => {
  const { incoming, messages } = open({ maxMessageBytes: 2 * MIN_PIECE_BYTES + 1 });
  incoming.resume();
  const piece = HEADER_BYTES + MIN_PIECE_BYTES;
  let at = 0;
  for (const [kind, bytes] of [
    [FrameKind.piece, piece],
    [FrameKind.piece, piece],
    [FrameKind.last, HEADER_BYTES + 1],
    [FrameKind.piece, piece],
    [FrameKind.last, HEADER_BYTES],
  ] as const) {
    incoming.take(frame({ kind, at, bytes }));
    at += bytes;
  }
  expect(messages).toEqual([2 * MIN_PIECE_BYTES + 1, MIN_PIECE_BYTES]);
});

function open({
  message = () => {},
  maxMessageBytes = 4 * WINDOW_BYTES,
}: {
  message?: () => void;
  maxMessageBytes?: number;
} = {}): { incoming: Incoming; messages: number[]; seen: string[] } {
  const messages: number[] = [];
  const seen: string[] = [];
  const incoming = new Incoming(
    {
      message: ({ length }) => {
        messages.push(length);
        seen.push(`${length}`);
        message();
      },
      tooLong: () => void seen.push("too long"),
      end: (code, reason) => void seen.push(`end ${code} ${reason}`),
    },
    maxMessageBytes,
  );
  return { incoming, messages, seen };
}

/** A frame of so many bytes, with its header. */
function frame({ kind = FrameKind.last, at, bytes }: { kind?: number; at: number; bytes: number }): Buffer {
  return numberedFrame(kind, at, bytes - HEADER_BYTES);
}
