import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { connectPair, type End, openEnd } from "../../test/fixtures/virtual-pair.ts";
import { HIGH_WATER_BYTES, LOW_WATER_BYTES } from "../transport/transport.ts";
import type { BusMessage } from "./bus.ts";
import { FrameKind, HEADER_BYTES, numberedFrame, readState, stampProgress, stateFrame } from "./frames.ts";
import { WINDOW_BYTES } from "./incoming.ts";
import type { VirtualConnection } from "./virtual-connection.ts";

beforeEach(() => vi.useFakeTimers({ toFake: [...TIMERS] }));
afterEach(() => vi.useRealTimers());

const TIMERS = ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"] as const;
const PIECE_BYTES = 256 * 1024;
const wait = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const text = (bytes: number, letter = "x"): string => letter.repeat(bytes);
const isNumbered = (frame: Buffer): boolean => frame[0] === FrameKind.last || frame[0] === FrameKind.piece;

test("messages of every length arrive whole and in order, in both directions", async () => {
  const { client, executor } = await connectPair(wait);
  const lengths = [0, 1, 70_000, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3_000_000, 2];
  for (const length of lengths) {
    client.transport.send(text(length));
    executor.transport.send(Buffer.from(text(length, "y")));
  }
  await wait(200);
  expect(executor.messages.map((message) => message.length)).toEqual(lengths);
  expect(client.messages.map((message) => message.length)).toEqual(lengths);
  expect(executor.messages[6]).toBe(text(3_000_000));
});

test("a message of 64 MiB passes, never more than the window ahead of its reader", async () => {
  const { nats, client, executor } = await connectPair(wait);
  const parts = Array.from({ length: 64 }, (_, at) => Buffer.alloc(1024 * 1024, 97 + (at % 26)));
  let flushed = 0;
  executor.transport.pause();
  const before = nats.publishedBytes;
  client.transport.sendParts(parts, () => {
    flushed += 1;
  });
  await wait(1_000);
  expect(nats.publishedBytes - before).toBeLessThanOrEqual(WINDOW_BYTES + 10_000);
  expect(flushed).toBe(0);
  executor.transport.resume();
  await wait(1_000);
  expect(executor.messages).toHaveLength(1);
  expect(Buffer.from(executor.messages[0]!).equals(Buffer.concat(parts))).toBe(true);
  expect(flushed).toBe(1);
  expect(client.transport.queuedBytes).toBe(0);
});

test("text beyond ASCII keeps its characters, also at the edges of pieces", async () => {
  const { client, executor } = await connectPair(wait);
  const message = "a€".repeat(PIECE_BYTES);
  client.transport.send(message);
  client.transport.send("ü€😀");
  await wait(100);
  expect(executor.messages).toEqual([message, "ü€😀"]);
});

test("bytes that are no UTF-8 become a message that is no JSON", async () => {
  const { client, executor } = await connectPair(wait);
  client.transport.send(Buffer.of(0xff, 0xfe));
  await wait(10);
  expect(executor.messages).toEqual(["\uFFFD"]);
});

test("a frame that is lost is sent again, and so is what follows it", async () => {
  const { nats, client, executor } = await connectPair(wait);
  let frames = 0;
  nats.fate = (frame) => (isNumbered(frame) && ++frames === 2 ? "is lost" : "arrives");
  for (const message of ["1", "2", "3", "4"]) client.transport.send(message);
  await wait(20);
  expect(executor.messages).toEqual(["1", "2", "3", "4"]);
});

test("the last frame is sent again within a second if it is lost", async () => {
  const { nats, client, executor } = await connectPair(wait);
  let frames = 0;
  nats.fate = (frame) => (isNumbered(frame) && ++frames === 1 ? "is lost" : "arrives");
  client.transport.send("only");
  await wait(1_100);
  expect(executor.messages).toEqual(["only"]);
});

test("frames that arrive twice, and late, are delivered once and in order", async () => {
  const { nats, client, executor } = await connectPair(wait);
  let frames = 0;
  nats.fate = (frame) => {
    if (!isNumbered(frame)) return "arrives";
    frames += 1;
    return frames % 3 === 0 ? "arrives late" : frames % 3 === 1 ? "arrives twice" : "arrives";
  };
  const sent = Array.from({ length: 50 }, (_, at) => `${at}`);
  for (const message of sent) client.transport.send(message);
  await wait(5_000);
  expect(executor.messages).toEqual(sent);
});

test("a reader that has stopped gets one window, the rest waits at the sender", async () => {
  const { nats, client, executor } = await connectPair(wait);
  executor.transport.pause();
  const before = nats.publishedBytes;
  for (let at = 0; at < 60; at += 1) client.transport.send(text(100_000));
  await wait(20_000);
  expect(nats.publishedBytes - before).toBeLessThan(WINDOW_BYTES + 20_000);
  expect(client.transport.queuedBytes).toBeGreaterThan(60 * 100_000 - WINDOW_BYTES - 1);
  expect(client.transport.queuedBytes).toBeGreaterThan(HIGH_WATER_BYTES);
  expect([client.closed, executor.closed, client.drains]).toEqual([undefined, undefined, 0]);
  // The other direction is not concerned.
  executor.transport.send("answer");
  await wait(10);
  expect(client.messages).toEqual(["answer"]);
  executor.transport.resume();
  await wait(500);
  expect(executor.messages).toHaveLength(60);
  expect(client.drains).toBe(1);
  expect(client.transport.queuedBytes).toBeLessThanOrEqual(LOW_WATER_BYTES);
});

test("a sender continues although the news that there is room was lost", async () => {
  const { nats, client, executor } = await connectPair(wait);
  executor.transport.pause();
  for (let at = 0; at < 30; at += 1) client.transport.send(text(100_000));
  await wait(100);
  nats.fate = (frame, to) => (to === client.bus && frame[0] === FrameKind.state ? "is lost" : "arrives");
  executor.transport.resume();
  await wait(100);
  expect(executor.messages.length).toBeLessThan(30);
  nats.fate = () => "arrives";
  await wait(1_100);
  expect(executor.messages).toHaveLength(30);
});

test("a reader that pauses in the middle of messages gets each of them once", async () => {
  const { client, executor } = await connectPair(wait);
  executor.transport.open({
    message: (message) => {
      executor.messages.push(message);
      executor.transport.pause();
    },
    drain: () => {},
    close: () => {},
  });
  for (const message of ["1", "2", "3"]) client.transport.send(message);
  await wait(10);
  expect(executor.messages).toEqual(["1"]);
  executor.transport.resume();
  expect(executor.messages).toEqual(["1", "2"]);
  executor.transport.resume();
  expect(executor.messages).toEqual(["1", "2", "3"]);
});

test("what was on its way when one end lost the bus arrives after it has connected again", async () => {
  const { client, executor } = await connectPair(wait);
  for (const lost of [client, executor]) {
    client.transport.send("to the executor");
    executor.transport.send("to the client");
    lost.bus.disconnect();
    client.transport.send("later");
    executor.transport.send("later");
    await wait(3_000);
    lost.bus.reconnect();
    await wait(30);
  }
  expect(executor.messages).toEqual(["to the executor", "later", "to the executor", "later"]);
  expect(client.messages).toEqual(["to the client", "later", "to the client", "later"]);
});

test("an idle connection lasts, and costs few frames", async () => {
  const { nats, client, executor } = await connectPair(wait);
  await wait(1_000);
  const before = nats.publishedFrames;
  await wait(60_000);
  expect([client.closed, executor.closed]).toEqual([undefined, undefined]);
  expect(nats.publishedFrames - before).toBeLessThan(120);
});

test("a request and its answer take two frames and no others in between", async () => {
  const { nats, client, executor } = await connectPair(wait);
  await wait(100);
  const kinds: number[] = [];
  nats.fate = (frame) => {
    kinds.push(frame[0]!);
    return "arrives";
  };
  client.transport.send("question");
  await wait(2);
  executor.transport.send("answer");
  await wait(2);
  client.transport.send("question");
  await wait(2);
  expect(kinds).toEqual([FrameKind.last, FrameKind.last, FrameKind.last]);
});

test("both ends notice within 10 s that the other one is silent", async () => {
  const { nats, client, executor } = await connectPair(wait);
  client.transport.send("x");
  await wait(1_000);
  nats.fate = () => "is lost";
  await wait(10_000);
  expect(client.closed).toEqual(["executor a has been silent for 5s"]);
  expect(executor.closed).toEqual(["client has been silent for 5s"]);
});

test("both ends notice within 10 s that one of them has lost the bus", async () => {
  const { client, executor } = await connectPair(wait);
  client.transport.send("x");
  await wait(1_000);
  client.bus.disconnect();
  await wait(10_000);
  expect(client.closed).toEqual(["the connection to the NATS server has been lost for 5s"]);
  expect(executor.closed).toEqual(["client has left the fleet"]);
});

test("an executor that has left is noticed within 5 s, and one that comes back before that is not lost", async () => {
  const { client, executor } = await connectPair(wait);
  executor.bus.disconnect();
  client.transport.send("1");
  await wait(2_500);
  executor.bus.reconnect();
  await wait(100);
  expect(executor.messages).toEqual(["1"]);
  executor.bus.disconnect();
  client.transport.send("2");
  await wait(5_000);
  expect(client.closed).toEqual(["executor a has left the fleet"]);
});

test("close delivers everything that was sent before, then the end with its reason", async () => {
  const { client, executor } = await connectPair(wait);
  for (let at = 0; at < 30; at += 1) executor.transport.send(text(100_000));
  executor.transport.close({ code: 4011, reason: "the token has been withdrawn" });
  let dropped = 0;
  executor.transport.send("too late", () => {
    dropped += 1;
  });
  await wait(500);
  expect(client.messages).toHaveLength(30);
  expect(client.closed).toEqual(["the token has been withdrawn"]);
  expect(executor.closed).toEqual([undefined]);
  expect(dropped).toBe(1);
});

test("a normal close has no reason", async () => {
  const { client, executor } = await connectPair(wait);
  client.transport.close();
  await wait(100);
  expect([client.closed, executor.closed]).toEqual([[undefined], [undefined]]);
});

test("an end that is not acknowledged comes after a second", async () => {
  const { client, executor } = await connectPair(wait);
  executor.transport.pause();
  for (let at = 0; at < 30; at += 1) client.transport.send(text(100_000));
  let flushed = 0;
  client.transport.send(Buffer.from("last"), () => {
    flushed += 1;
  });
  client.transport.close();
  await wait(900);
  expect([client.closed, flushed]).toEqual([undefined, 0]);
  await wait(200);
  expect([client.closed, flushed]).toEqual([[undefined], 1]);
  expect(executor.closed).toEqual([undefined]);
});

test("destroy ends both ends at once, with its reason", async () => {
  const { client, executor } = await connectPair(wait);
  client.transport.send("x");
  await wait(10);
  executor.transport.destroy("a malformed message");
  expect(executor.closed).toEqual(["a malformed message"]);
  await wait(10);
  expect(client.closed).toEqual(["a malformed message"]);
});

test("a bus that ends for good ends the connection", async () => {
  const { client } = await connectPair(wait);
  client.bus.end("no longer authorized");
  expect(client.closed).toEqual(["no longer authorized"]);
});

test("a ping is answered", async () => {
  const { client, executor } = await connectPair(wait);
  let answers = 0;
  for (const end of [client, executor]) end.transport.ping!(() => void (answers += 1));
  await wait(10);
  expect(answers).toBe(2);
});

test("a message beyond the limit of a server is refused with an answer, and the connection ends", async () => {
  const { client, executor } = await connectPair(wait, { maxMessageBytes: 1_000 });
  client.transport.send(text(1_000));
  client.transport.send(text(1_001));
  await wait(100);
  expect(executor.messages).toHaveLength(1);
  expect(executor.tooLong).toBe(1);
  expect(executor.closed).toEqual(["a message is longer than 1000 bytes"]);
  expect(client.closed).toEqual(["a message is longer than 1000 bytes"]);
});

test.each([
  ["an unknown kind", Buffer.of(99, 0, 0)],
  ["no bytes", Buffer.alloc(0)],
  ["half a header", Buffer.of(FrameKind.last, 0, 0)],
  ["a state of the wrong length", Buffer.of(FrameKind.state, 0)],
  ["a piece so short that its message would take more memory than it is long", numbered(FrameKind.piece, 10)],
  ["more than the window", numbered(FrameKind.last, WINDOW_BYTES)],
  [
    "an acknowledgement of what was never sent",
    stateFrame({ received: 1_000_000, limit: WINDOW_BYTES, sent: 0, resend: false, ask: false }),
  ],
])("%s ends the connection", async (_, frame) => {
  const { client, executor } = await connectPair(wait);
  receive(executor, frame);
  await wait(10);
  expect(executor.closed).toEqual(["a frame violates the fleet protocol"]);
  expect(client.closed).toEqual(["a frame violates the fleet protocol"]);
});

test("a flood of repeated frames is not answered one by one", async () => {
  const { nats, client, executor } = await connectPair(wait);
  client.transport.send(text(200_000));
  await wait(50);
  const before = nats.publishedFrames;
  for (let at = 0; at < 1_000; at += 1) receive(executor, numbered(FrameKind.last, 1));
  await wait(50);
  expect(nats.publishedFrames - before).toBeLessThan(5);
});

test("states survive being written and read", () => {
  const state = { received: 2 ** 47, limit: 2 ** 47 + 1, sent: 7, resend: true, ask: false };
  expect(readState(stateFrame(state))).toEqual(state);
});

function numbered(kind: number, bytes: number): Buffer {
  const frame = numberedFrame(kind, 0, bytes);
  stampProgress(frame, { received: 0, limit: WINDOW_BYTES });
  return frame;
}

function receive(end: End, data: Buffer): void {
  const message: BusMessage = { subject: "", data, reply: undefined, isUndeliverable: false };
  (end.transport as VirtualConnection).receive(message);
}

test("the memory of frames is used again when they are acknowledged, and not if they were sent again", async () => {
  const { nats, client, executor } = await connectPair(wait);
  let lost = 0;
  nats.fate = (frame) =>
    frame[0] === FrameKind.last && frame.length > 50_000 && lost++ % 7 === 0 ? "is lost" : "arrives";
  const sent = Array.from({ length: 60 }, (_, at) => `${at}`.padStart(80_000, "x"));
  for (const message of sent) {
    client.transport.send(message);
    if (Number(message.slice(-1)) % 5 === 0) await wait(3);
  }
  await wait(20_000);
  expect(executor.messages.map((message) => Number(message.replaceAll("x", "")))).toEqual(
    sent.map((_, at) => at),
  );
  expect(executor.messages).toEqual(sent);
});

test("the code of a farewell arrives with it, also at an end that is opened later", async () => {
  const { client, executor } = await connectPair(wait);
  client.transport.close({ code: 4011, reason: "the session is over" });
  await wait(10);
  expect(executor.closed).toEqual(["the session is over"]);
  expect(executor.closeCode).toBe(4011);
  expect(openEnd(executor.transport, executor.bus).closeCode).toBe(4011);
});

test("each end names the other, and counts what it has sent and received", async () => {
  const { client, executor } = await connectPair(wait);
  const ends = [client.transport, executor.transport];
  expect(ends.map(({ from, source }) => [from, source])).toEqual([
    ["executor a", "JSON-RPC message from executor a"],
    ["fleet someone", "JSON-RPC message from exec-server fleet"],
  ]);
  await wait(100);
  const counted = (): number[] =>
    ends.flatMap(({ sentBytes, receivedBytes }) => [sentBytes!, receivedBytes!]);
  const before = counted();
  client.transport.send("x".repeat(1_000));
  await wait(2);
  const frame = HEADER_BYTES + 1_000;
  expect(counted().map((bytes, at) => bytes - before[at]!)).toEqual([frame, 0, 0, frame]);
});
