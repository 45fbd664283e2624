import { expect, test } from "vitest";
import { HEADER_BYTES } from "./frames.ts";
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

test.each(["x".repeat(1_000), Buffer.alloc(1_000, "x")])(
  "a message is published as soon as the receiver admits its last byte",
  (message) => {
    const bytes = HEADER_BYTES + 1_000;
    // A short text must fit whatever its characters are; otherwise it takes the same way as the others.
    const { outgoing, frames } = open({ limit: bytes - 1 });
    outgoing.send(message);
    expect(frames).toEqual([]);
    expect(outgoing.queuedBytes).toBe(1_000);
    outgoing.acknowledge({ received: 0, limit: bytes });
    expect(frames.map(bodyOf)).toEqual(["x".repeat(1_000)]);
    expect(outgoing.queuedBytes).toBe(0);
  },
);

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

function open({ limit = 10 * FRAME } = {}): {
  outgoing: Outgoing;
  frames: Buffer[];
  bus: { isOpen: boolean };
} {
  const frames: Buffer[] = [];
  const bus = { isOpen: true };
  const outgoing = new Outgoing(
    {
      progress: () => ({ received: 0, limit: 0 }),
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
