import { expect, test } from "vitest";
import { useMovedClock } from "../../test/fixtures/moved-clock.ts";
import { connectPair, type End } from "../../test/fixtures/virtual-pair.ts";
import { FrameKind, HEADER_BYTES, numberedFrame, stampProgress, stateFrame } from "./frames.ts";
import { Incoming, WINDOW_BYTES } from "./incoming.ts";
import type { VirtualConnection } from "./virtual-connection.ts";

const wait = useMovedClock();
const HONEST = { received: 0, limit: WINDOW_BYTES, sent: 0, resend: false, ask: false };

test.each([
  ["a state", (limit: number) => stateFrame({ ...HONEST, limit })],
  [
    "a message",
    (limit: number) => {
      const frame = numberedFrame(FrameKind.last, 0, 0);
      stampProgress(frame, { received: 0, limit });
      return frame;
    },
  ],
])(
  "a peer that admits more than a window in %s and acknowledges nothing fills no memory",
  async (_, frameWith) => {
    const { nats, client, executor } = await connectPair(wait);
    receive(executor, frameWith(WINDOW_BYTES));
    expect(executor.closed).toBeUndefined();
    receive(executor, frameWith(2 ** 48 - 1));
    const before = nats.publishedBytes;
    for (let at = 0; at < 50; at += 1) executor.transport.send("x".repeat(100_000));
    expect(executor.closed).toEqual(["a frame violates the fleet protocol"]);
    expect(nats.publishedBytes - before).toBeLessThan(WINDOW_BYTES);
    await wait(10);
    expect(client.closed).toEqual(["a frame violates the fleet protocol"]);
  },
);

test("a peer that wants everything again all the time gets it a few times a second, and is not cut off", async () => {
  const { nats, client, executor } = await connectPair(wait);
  nats.fate = (_frame, to) => (to === client.bus ? "is lost" : "arrives");
  const message = "x".repeat(900_000);
  executor.transport.send(message);
  await wait(10);
  const before = nats.publishedBytes;
  for (let at = 0; at < 200; at += 1) {
    receive(executor, stateFrame({ ...HONEST, resend: true }));
    await wait(5);
  }
  expect((nats.publishedBytes - before) / message.length).toBeGreaterThan(3);
  expect((nats.publishedBytes - before) / message.length).toBeLessThan(6);
  nats.fate = () => "arrives";
  await wait(1_500);
  expect(client.messages).toEqual([message]);
});

test("what waits for a reader keeps nothing alive that came with it", () => {
  const messages: string[] = [];
  const incoming = new Incoming(
    { message: (bytes) => void messages.push(bytes.toString()), tooLong: () => {}, end: () => {} },
    1_000_000,
  );
  const short = frameIn(Buffer.alloc(64 * 1024), FrameKind.last, 0, 10);
  incoming.take(short.frame);
  const piece = frameIn(Buffer.alloc(64 * 1024), FrameKind.piece, short.frame.length, 16 * 1024);
  incoming.take(piece.frame);
  // Only frames with their own memory are unchanged.
  for (const { read } of [short, piece]) read.fill("-");
  incoming.resume();
  const other = frameIn(Buffer.alloc(64 * 1024), FrameKind.piece, incoming.progress.received, 16 * 1024);
  incoming.take(other.frame);
  other.read.fill("-");
  incoming.take(frameIn(Buffer.alloc(64 * 1024), FrameKind.last, incoming.progress.received, 1).frame);
  expect(messages).toEqual(["x".repeat(10), "x".repeat(2 * 16 * 1024 + 1)]);
});

/** A frame in the middle of a longer read. */
function frameIn(
  read: Buffer,
  kind: number,
  position: number,
  bytes: number,
): { read: Buffer; frame: Buffer } {
  const frame = numberedFrame(kind, position, bytes, (length) => read.subarray(100, 100 + length));
  stampProgress(frame, { received: 0, limit: WINDOW_BYTES });
  frame.fill("x", HEADER_BYTES);
  return { read, frame };
}

function receive(end: End, data: Buffer): void {
  (end.transport as VirtualConnection).receive({
    subject: "",
    data,
    reply: undefined,
    isUndeliverable: false,
  });
}
