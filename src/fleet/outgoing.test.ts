import { expect, test } from "vitest";
import { FrameKind, HEADER_BYTES, readPosition, readProgress } from "./frames.ts";
import { Outgoing } from "./outgoing.ts";

/** Long enough for memory that is used again. */
const LONG = 80_000;
const FRAME = HEADER_BYTES + LONG;

test("the memory of a frame that was published once is used again when it is acknowledged", () => {
  const { outgoing, frames } = open();
  outgoing.send(Buffer.alloc(LONG, "a"));
  outgoing.acknowledge({ received: FRAME, limit: 10 * FRAME });
  outgoing.send(Buffer.alloc(LONG, "b"));
  expect(frames[1]!.buffer).toBe(frames[0]!.buffer);
  expect(bodyOf(frames[1]!)).toBe("b".repeat(LONG));
});

test("a frame that is not acknowledged keeps its memory", () => {
  const { outgoing, frames } = open();
  outgoing.send(Buffer.alloc(LONG, "a"));
  outgoing.send(Buffer.alloc(LONG, "b"));
  outgoing.acknowledge({ received: FRAME, limit: 10 * FRAME });
  outgoing.send(Buffer.alloc(LONG, "c"));
  outgoing.sendAgain();
  expect(frames.slice(-2).map(bodyOf)).toEqual(["b".repeat(LONG), "c".repeat(LONG)]);
});

test("a copy of a frame that still waits in a socket is not overwritten when another copy is acknowledged", () => {
  const { outgoing, frames } = open();
  outgoing.send(Buffer.alloc(LONG, "a"));
  outgoing.sendAgain();
  outgoing.acknowledge({ received: FRAME, limit: 10 * FRAME });
  outgoing.send(Buffer.alloc(LONG, "b"));
  expect(frames.map(bodyOf)).toEqual(["a".repeat(LONG), "a".repeat(LONG), "b".repeat(LONG)]);
});

test("a frame that could not be published before it is sent again counts as published once", () => {
  const { outgoing, frames, bus } = open();
  bus.isOpen = false;
  outgoing.send(Buffer.alloc(LONG, "a"));
  outgoing.sendAgain();
  bus.isOpen = true;
  outgoing.pump();
  outgoing.acknowledge({ received: FRAME, limit: 10 * FRAME });
  outgoing.send(Buffer.alloc(LONG, "b"));
  expect(frames).toHaveLength(2);
  expect(frames[1]!.buffer).toBe(frames[0]!.buffer);
});

test.each(["x".repeat(3_000), "€".repeat(1_000), Buffer.alloc(3_000, "x")])(
  "a message is published as soon as the receiver admits its last byte",
  (message) => {
    const bytes = HEADER_BYTES + 3_000;
    // A short text must fit whatever its characters are; otherwise it takes the same way as the others.
    const { outgoing, frames } = open({ limit: bytes - 1 });
    outgoing.send(message);
    expect(frames).toEqual([]);
    expect(outgoing.queuedBytes).toBe(3_000);
    outgoing.acknowledge({ received: 0, limit: bytes });
    expect(frames.map(bodyOf)).toEqual([message.toString()]);
    expect(outgoing.queuedBytes).toBe(0);
  },
);

test("a short text waits for a message before it that does not fit yet", () => {
  const { outgoing, frames } = open({ limit: HEADER_BYTES + 999 });
  let flushed = 0;
  outgoing.send(Buffer.alloc(1_000, "a"));
  outgoing.send("b", () => void (flushed += 1));
  expect([frames, flushed]).toEqual([[], 0]);
  outgoing.acknowledge({ received: 0, limit: 2_000 });
  expect([frames.map(bodyOf), flushed]).toEqual([["a".repeat(1_000), "b"], 1]);
});

test("a long message is cut into frames of 256 KiB, of which only the last says so", () => {
  const { outgoing, frames } = open({ limit: 2_000_000 });
  outgoing.sendParts([Buffer.alloc(262_143, "a"), Buffer.alloc(0), Buffer.alloc(262_146, "b")]);
  expect(frames.map((frame) => [frame[0], frame.length - HEADER_BYTES])).toEqual([
    [FrameKind.piece, 262_144],
    [FrameKind.piece, 262_144],
    [FrameKind.last, 1],
  ]);
  expect(frames.map(readPosition)).toEqual([0, HEADER_BYTES + 262_144, 2 * (HEADER_BYTES + 262_144)]);
  expect(frames.map(bodyOf).join("")).toBe("a".repeat(262_143) + "b".repeat(262_146));
  expect(outgoing.end).toBe(3 * HEADER_BYTES + 524_289);
});

test("what is acknowledged is not sent again; what is not, is, with the newest progress", () => {
  const progress = { received: 7, limit: 9 };
  const { outgoing, frames } = open({ progress: () => progress });
  for (const text of ["a", "b", "c"]) outgoing.send(text);
  outgoing.acknowledge({ received: HEADER_BYTES + 1, limit: 0 });
  expect(outgoing.acknowledged).toBe(HEADER_BYTES + 1);
  frames.length = 0;
  progress.received = 8;
  outgoing.sendAgain();
  expect(frames.map(bodyOf)).toEqual(["b", "c"]);
  expect(frames.map(readProgress)).toEqual([
    { received: 8, limit: 9 },
    { received: 8, limit: 9 },
  ]);
  outgoing.acknowledge({ received: 3 * (HEADER_BYTES + 1), limit: 0 });
  frames.length = 0;
  outgoing.sendAgain();
  expect([frames, outgoing.isEmpty]).toEqual([[], true]);
});

test("what is dropped counts as flushed, once, and is not sent", () => {
  const { outgoing, frames } = open({ limit: HEADER_BYTES + 10 });
  let flushed = 0;
  for (const text of ["a", "b".repeat(100), "c"]) outgoing.send(text, () => void (flushed += 1));
  outgoing.finish(1000, "over");
  expect(flushed).toBe(1);
  outgoing.clear();
  expect([flushed, outgoing.isEmpty, frames.map(bodyOf)]).toEqual([3, true, ["a"]]);
  outgoing.clear();
  expect(flushed).toBe(3);
});

test("the end is published as soon as the receiver admits its last byte", () => {
  const bytes = HEADER_BYTES + 2 + "over".length;
  const { outgoing, frames } = open({ limit: bytes - 1 });
  outgoing.finish(1000, "over");
  expect(frames).toEqual([]);
  outgoing.acknowledge({ received: 0, limit: bytes });
  expect(frames).toHaveLength(1);
  expect(outgoing.isEmpty).toBe(false);
  outgoing.acknowledge({ received: bytes, limit: bytes });
  expect(outgoing.isEmpty).toBe(true);
});

function open({ limit = 10 * FRAME, progress = () => ({ received: 0, limit: 0 }) } = {}): {
  outgoing: Outgoing;
  frames: Buffer[];
  bus: { isOpen: boolean };
} {
  const frames: Buffer[] = [];
  const bus = { isOpen: true };
  const outgoing = new Outgoing(
    {
      progress,
      isOpen: () => bus.isOpen,
      // As a socket holds them: without a copy.
      publish: (frame) => void frames.push(frame),
      drained: () => {},
    },
    limit,
  );
  return { outgoing, frames, bus };
}

function bodyOf(frame: Buffer): string {
  return frame.toString("utf8", HEADER_BYTES);
}
