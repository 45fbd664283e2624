import { once } from "node:events";
import type { Writable } from "node:stream";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as library from "ws";
import { giveBackFrameBuffer, takeFrameBuffer } from "./frame-buffers.ts";
import { installFastPath } from "./fast-path.ts";
import type { Side } from "./frame-scanner.ts";
import type { TakeBytes } from "./socket-reads.ts";

/** The types do not know it, but the library offers it. */
const { Receiver } = library as unknown as {
  Receiver: new (options: object) => Writable;
};

const LONG = 256 * 1024;
const MAX_PAYLOAD = 64 * 1024 * 1024;
const TEXT = 1;
const CONTINUATION = 0;
const PING = 9;

interface Frame {
  readonly opcode: number;
  readonly fin: boolean;
  readonly payload: Buffer;
  /** Empty in the frames of a server. */
  readonly mask: Buffer;
}

function encode({ opcode, fin, payload, mask }: Frame): Buffer {
  const length = payload.length;
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const header = Buffer.alloc(2 + extended);
  header[0] = (fin ? 0x80 : 0) | opcode;
  header[1] = (mask.length > 0 ? 0x80 : 0) | (extended === 0 ? length : extended === 2 ? 126 : 127);
  if (extended === 2) header.writeUInt16BE(length, 2);
  if (extended === 8) header.writeBigUInt64BE(BigInt(length), 2);
  const masked = Buffer.from(payload);
  for (let index = 0; index < length && mask.length > 0; index += 1)
    masked[index] = masked[index]! ^ mask[index % 4]!;
  return Buffer.concat([header, mask, masked]);
}

interface Gathering {
  readonly receiver: Writable;
  readonly take: TakeBytes;
}

function gathering(maxPayload: number, side: Side = "server"): Gathering {
  const isServer = side === "server";
  const receiver = new Receiver({ isServer, maxPayload, allowSynchronousEvents: true });
  const webSocket = { _receiver: receiver, extensions: "" } as unknown as library.WebSocket;
  const take = installFastPath(webSocket, { side, maxMessageBytes: maxPayload });
  expect(take).toBeDefined();
  return { receiver, take: take! };
}

/** The library's output for bytes in these pieces. */
function receive(pieces: readonly Buffer[], side: Side = "server"): string[] {
  const { receiver, take } = gathering(MAX_PAYLOAD, side);
  const received: string[] = [];
  receiver.on("message", (data: Buffer) => {
    received.push(describeMessage(data));
    giveBackFrameBuffer(data);
  });
  receiver.on("ping", (data: Buffer) => received.push(`ping ${data.toString()}`));
  for (const piece of pieces) {
    // A client's socket offers what it has read first, and uses the memory again.
    const read = Buffer.from(piece);
    const taken = side === "client" ? take(read) : 0;
    if (taken < read.length) receiver.write(Buffer.from(read.subarray(taken)));
    if (side === "client") read.fill("!");
  }
  return received;
}

function describeMessage(bytes: Buffer): string {
  return `message ${bytes.length} ${bytes.toString("latin1", 0, 20)} ${sum(bytes)}`;
}

/** What was sent, in the form of `receive`. */
function describeFrames(frames: readonly Frame[]): string[] {
  const pings = frames
    .filter(({ opcode }) => opcode === PING)
    .map(({ payload }) => `ping ${payload.toString()}`);
  const parts = frames.filter(({ opcode }) => opcode !== PING).map(({ payload }) => payload);
  return [...pings, describeMessage(Buffer.concat(parts))];
}

function sum(bytes: Buffer): number {
  let total = 0;
  for (const byte of bytes) total = (total * 31 + byte) % 1_000_003;
  return total;
}

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

const mask = fc.oneof(
  fc.constant(Buffer.alloc(4)),
  fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
);
const length = fc.oneof(fc.nat(200), fc.integer({ min: LONG - 3, max: LONG + 70_000 }));
const message = fc
  .tuple(length, mask, fc.nat(25), fc.boolean())
  .map(([size, key, letter, split]): Frame[] => {
    const payload = Buffer.alloc(size, `${String.fromCharCode(97 + letter)}bcdefg`);
    if (!split) return [{ opcode: TEXT, fin: true, payload, mask: key }];
    const middle = size >> 1;
    return [
      { opcode: TEXT, fin: false, payload: payload.subarray(0, middle), mask: key },
      { opcode: PING, fin: true, payload: Buffer.from("p"), mask: key },
      { opcode: CONTINUATION, fin: true, payload: payload.subarray(middle), mask: key },
    ];
  });

describe("long frames", () => {
  it("come to what was sent, however they are cut", () => {
    const places = fc.array(fc.nat(2_000_000), { maxLength: 10 });
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 4 }), places, (messages, cuts) => {
        const pieces = cut(Buffer.concat(messages.flat().map(encode)), cuts);
        expect(receive(pieces)).toEqual(messages.flatMap(describeFrames));
      }),
      { numRuns: 25 },
    );
  });

  it("of a server come to what was sent, although the memory of each read is used again", () => {
    const places = fc.array(fc.nat(2_000_000), { maxLength: 10 });
    const mask = Buffer.alloc(0);
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 4 }), places, (messages, cuts) => {
        const unmasked = messages.map((frames) => frames.map((frame) => ({ ...frame, mask })));
        const pieces = cut(Buffer.concat(unmasked.flat().map(encode)), cuts);
        expect(receive(pieces, "client")).toEqual(messages.flatMap(describeFrames));
      }),
      { numRuns: 25 },
    );
  });

  it("that are too long are refused by the library", async () => {
    const frame = encode({ opcode: TEXT, fin: true, payload: Buffer.alloc(2 * LONG), mask: Buffer.alloc(4) });
    const { receiver } = gathering(LONG);
    const refused = once(receiver, "error");
    for (const piece of cut(frame, [70_000])) receiver.write(piece);
    expect(await refused).toMatchObject([{ message: "Max payload size exceeded" }]);
  });

  it("use the same memory one after another, but never at the same time", () => {
    const first = takeFrameBuffer(LONG);
    const second = takeFrameBuffer(LONG);
    expect(second.buffer).not.toBe(first.buffer);
    giveBackFrameBuffer(first);
    const third = takeFrameBuffer(LONG - 1);
    expect(third.buffer).toBe(first.buffer);
    giveBackFrameBuffer(first);
    expect(takeFrameBuffer(LONG).buffer).not.toBe(first.buffer);
  });

  it("keep several pieces of memory for the next ones, but not any number", () => {
    const MIB = 1024 * 1024;
    const all = Array.from({ length: 20 }, () => takeFrameBuffer(MIB));
    const memory = new Set(all.map(({ buffer }) => buffer));
    expect(memory.size).toBe(20);
    for (const bytes of all) giveBackFrameBuffer(bytes);
    const again = Array.from({ length: 20 }, () => takeFrameBuffer(MIB)).map(({ buffer }) => buffer);
    expect(again.filter((buffer) => memory.has(buffer))).toHaveLength(16);
    expect(new Set(again).size).toBe(20);
  });

  it("keep one piece of any size for the next one", () => {
    const MIB = 1024 * 1024;
    const large = takeFrameBuffer(60 * MIB);
    giveBackFrameBuffer(large);
    const again = takeFrameBuffer(60 * MIB);
    expect(again.buffer).toBe(large.buffer);
    giveBackFrameBuffer(again);
    giveBackFrameBuffer(takeFrameBuffer(61 * MIB));
    expect(takeFrameBuffer(60 * MIB).buffer).not.toBe(large.buffer);
  });
});
