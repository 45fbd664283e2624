import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Writable } from "node:stream";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as webSocketLibrary from "ws";
import { type FastPathOptions, installFastPath } from "./fast-path.ts";
import type { Side } from "./frame-scanner.ts";
import { takeSmallMessages } from "./small-frames.ts";

// Exported by the library, though its types do not say so.
const { Receiver } = webSocketLibrary as unknown as { Receiver: new (options: object) => Writable };

interface Piece {
  readonly opcode: number;
  readonly final: boolean;
  readonly payload: Buffer;
  /** Undefined in the frames of a server. */
  readonly mask: number | undefined;
}

const TEXT = 1;
const CONTINUATION = 0;
const PING = 9;
const MAX_MESSAGE_BYTES = 20_000;

/** A frame as a client sends it, or a server without a mask. */
function encode({ opcode, final, payload, mask }: Piece): Buffer {
  const length = payload.length;
  const header = Buffer.alloc(length < 126 ? 2 : 4);
  header[0] = (final ? 0x80 : 0) | opcode;
  header[1] = (mask === undefined ? 0 : 0x80) | Math.min(length, 126);
  if (length >= 126) header.writeUInt16BE(length, 2);
  if (mask === undefined) return Buffer.concat([header, payload]);
  const key = Buffer.alloc(4);
  key.writeUInt32BE(mask);
  return Buffer.concat([header, key, payload.map((byte, index) => byte ^ key[index % 4]!)]);
}

/** What the fast path sees of a WebSocket. */
function over(receiver: object, extensions = ""): webSocketLibrary.WebSocket {
  return { _receiver: receiver, extensions } as unknown as webSocketLibrary.WebSocket;
}

const silent: FastPathOptions = {
  side: "server",
  maxMessageBytes: MAX_MESSAGE_BYTES,
  takeSmall: () => 0,
  messageTooLong: () => {},
  frameTooLong: () => {},
};

/** Feeds the chunks to the library, with or without the fast path, and returns the output. */
async function receive(
  chunks: readonly Buffer[],
  isFast: boolean,
  side: Side = "server",
): Promise<{ heard: string[]; taken: number }> {
  const heard: string[] = [];
  let taken = 0;
  const receiver = new Receiver({ isServer: side === "server", maxPayload: MAX_MESSAGE_BYTES });
  receiver.on("message", (data: Buffer) => heard.push(data.toString()));
  receiver.on("ping", (data: Buffer) => heard.push(`ping ${data.toString()}`));
  receiver.on("error", (error: Error) => heard.push(`error ${error.message}`));
  if (isFast) {
    const takeSmall = (chunk: Buffer): number =>
      takeSmallMessages(chunk, MAX_MESSAGE_BYTES, (text) => {
        taken += 1;
        heard.push(text);
      });
    expect(
      installFastPath(over(receiver), { ...silent, side, ...(side === "server" && { takeSmall }) }),
    ).toBeDefined();
  }
  // Unmasking is done in place.
  for (const chunk of chunks) receiver.write(Buffer.from(chunk));
  // Streams report errors a little later.
  await new Promise((resolve) => setImmediate(resolve));
  return { heard, taken };
}

function cut(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((start, index) => bytes.subarray(start, places[index] ?? bytes.length));
}

const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 200, size: "max" }) },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme", maxLength: 60, size: "max" }) },
  { weight: 1, arbitrary: fc.integer({ min: 4_000, max: 9_000 }).map((length) => "x".repeat(length)) },
);
const mask = fc.integer({ min: 0, max: 0xffff_ffff });

/** One message: a frame, or fragments with a ping between them. */
const message = fc.tuple(text, mask, fc.boolean()).map(([content, key, fragmented]): Piece[] => {
  const payload = Buffer.from(content);
  if (!fragmented) return [{ opcode: TEXT, final: true, payload, mask: key }];
  const half = payload.length >> 1;
  return [
    { opcode: TEXT, final: false, payload: payload.subarray(0, half), mask: key },
    { opcode: PING, final: true, payload: Buffer.from("still there?"), mask: key },
    { opcode: CONTINUATION, final: true, payload: payload.subarray(half), mask: key },
  ];
});
const wire = fc.tuple(
  fc
    .array(message, { maxLength: 12, size: "max" })
    .map((messages) => Buffer.concat(messages.flat().map(encode))),
  fc.array(fc.nat(), { maxLength: 12, size: "max" }),
);

describe("the fast path", () => {
  it("changes nothing of what is heard, however the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(wire, async ([bytes, cuts]) => {
        const chunks = cut(bytes, cuts);
        expect((await receive(chunks, true)).heard).toEqual((await receive(chunks, false)).heard);
      }),
      { numRuns: 500 },
    );
  });

  it("changes nothing of what a client hears", async () => {
    const unmasked = fc
      .array(message, { maxLength: 12, size: "max" })
      .map((messages) =>
        Buffer.concat(messages.flat().map((piece) => encode({ ...piece, mask: undefined }))),
      );
    await fc.assert(
      fc.asyncProperty(unmasked, fc.array(fc.nat(), { maxLength: 12 }), async (bytes, cuts) => {
        const chunks = cut(bytes, cuts);
        const { heard } = await receive(chunks, true, "client");
        expect(heard).toEqual((await receive(chunks, false, "client")).heard);
      }),
      { numRuns: 200 },
    );
  });

  it("leaves what is wrong to the library of a client, too", async () => {
    const small = (payload: Buffer): Piece => ({ opcode: TEXT, final: true, payload, mask: undefined });
    const first = encode(small(Buffer.from("first")));
    const masked = encode({ ...small(Buffer.from("x")), mask: 1 });
    const notUtf8 = encode(small(Buffer.from([0x61, 0xff])));
    const tooLong = encode(small(Buffer.alloc(MAX_MESSAGE_BYTES + 1, "x")));
    const reserved = Buffer.from([0xc1, 1, 0x61]);
    const withinAnother = Buffer.concat([encode({ ...small(Buffer.from("begun")), final: false }), first]);
    const beyondMemory = Buffer.from([0x81, 127, 0x7f, 0, 0, 0, 0, 0, 0, 0]);
    for (const wrong of [masked, notUtf8, tooLong, reserved, withinAnother, beyondMemory]) {
      const chunks = cut(Buffer.concat([first, wrong]), [3, 9]);
      const { heard } = await receive(chunks, true, "client");
      expect(heard).toEqual((await receive(chunks, false, "client")).heard);
      expect(heard).toEqual(["first", expect.stringMatching(/^error /)]);
    }
  });

  it("leaves what is wrong to the library", async () => {
    const small = (payload: Buffer): Piece => ({ opcode: TEXT, final: true, payload, mask: 0x01020304 });
    const notUtf8 = encode(small(Buffer.from([0x61, 0xff, 0xfe])));
    const tooLong = encode(small(Buffer.alloc(MAX_MESSAGE_BYTES + 1, "x")));
    const unmasked = Buffer.from([0x81, 1, 0x61]);
    const reserved = Buffer.from([0xc1, 0x81, 0, 0, 0, 0, 0x61]);
    const withinAnother = Buffer.concat([
      encode({ ...small(Buffer.from("begun")), final: false }),
      encode(small(Buffer.from("x"))),
    ]);
    for (const wrong of [notUtf8, tooLong, unmasked, reserved, withinAnother]) {
      const bytes = cut(Buffer.concat([encode(small(Buffer.from("first"))), wrong]), [11, 22]);
      const { heard } = await receive(bytes, true);
      expect(heard).toEqual((await receive(bytes, false)).heard);
      expect(heard).toEqual(["first", expect.stringMatching(/^error /)]);
    }
  });

  it("takes small messages itself", async () => {
    const small = encode({ opcode: TEXT, final: true, payload: Buffer.from("x"), mask: 7 });
    expect(await receive([Buffer.concat([small, small]), small], true)).toEqual({
      heard: ["x", "x", "x"],
      taken: 3,
    });
  });

  it("is found in a WebSocket of the library", async () => {
    const server = new webSocketLibrary.WebSocketServer({ port: 0, host: "127.0.0.1" });
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const client = new webSocketLibrary.WebSocket(`ws://127.0.0.1:${port}`);
    try {
      const [[webSocket]] = await Promise.all([
        once(server, "connection") as Promise<[webSocketLibrary.WebSocket]>,
        once(client, "open"),
      ]);
      expect(installFastPath(webSocket, silent)).toBeDefined();
    } finally {
      client.terminate();
      server.close();
    }
  });

  it("leaves everything to a library that does not read as it relies on", () => {
    const newReceiver = (options = {}) => new Receiver({ isServer: true, ...options });
    const renamed = { _reader: newReceiver(), extensions: "" } as unknown as webSocketLibrary.WebSocket;
    const deferring = newReceiver({ allowSynchronousEvents: false });
    const others = [renamed, over({}), over(deferring), over(newReceiver(), "permessage-deflate")];
    for (const webSocket of others) expect(installFastPath(webSocket, silent)).toBeUndefined();
    expect(Object.hasOwn(deferring, "write")).toBe(false);
  });

  it("says that a message is too long before the library sees it, and that a frame is after that", async () => {
    const heard: string[] = [];
    const open = (maxMessageBytes: number): Writable => {
      const receiver = new Receiver({ isServer: true, maxPayload: maxMessageBytes });
      receiver.on("message", (data: Buffer) => heard.push(data.toString()));
      receiver.on("error", () => heard.push("error"));
      installFastPath(over(receiver), {
        ...silent,
        maxMessageBytes,
        messageTooLong: () => heard.push("message too long"),
        frameTooLong: () => heard.push("frame too long"),
      });
      return receiver;
    };
    const first = encode({ opcode: TEXT, final: true, payload: Buffer.from("first"), mask: 1 });
    const longFrame = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x01, 0, 0, 1, 0, 0, 0, 0]);
    open(1000).write(Buffer.concat([first, longFrame]));
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard.splice(0)).toEqual(["message too long", "first", "error"]);
    open(64 * 1024 * 1024).write(Buffer.concat([first, longFrame]));
    expect(heard).toEqual(["first", "frame too long"]);
  });
});
