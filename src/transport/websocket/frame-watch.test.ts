import type { Writable } from "node:stream";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as webSocketLibrary from "ws";
import { watchReceiver } from "./frame-watch.ts";
import { takeSmallMessages } from "./small-frames.ts";

// Exported by the library, though its types do not say so.
const { Receiver } = webSocketLibrary as unknown as { Receiver: new (options: object) => Writable };

interface Piece {
  readonly opcode: number;
  readonly final: boolean;
  readonly payload: Buffer;
  readonly mask: number;
}

const TEXT = 1;
const CONTINUATION = 0;
const PING = 9;
const MAX_MESSAGE_BYTES = 20_000;

/** A frame as a client sends it. */
function encode({ opcode, final, payload, mask }: Piece): Buffer {
  const length = payload.length;
  const header = Buffer.alloc(length < 126 ? 2 : 4);
  header[0] = (final ? 0x80 : 0) | opcode;
  header[1] = 0x80 | Math.min(length, 126);
  if (length >= 126) header.writeUInt16BE(length, 2);
  const key = Buffer.alloc(4);
  key.writeUInt32BE(mask);
  return Buffer.concat([header, key, payload.map((byte, index) => byte ^ key[index % 4]!)]);
}

/** Feeds the chunks to the library, with or without the watch, and tells what came out. */
async function receive(
  chunks: readonly Buffer[],
  watched: boolean,
): Promise<{ heard: string[]; taken: number }> {
  const heard: string[] = [];
  let taken = 0;
  const receiver = new Receiver({ isServer: true, maxPayload: MAX_MESSAGE_BYTES });
  receiver.on("message", (data: Buffer) => heard.push(data.toString()));
  receiver.on("ping", (data: Buffer) => heard.push(`ping ${data.toString()}`));
  receiver.on("error", (error: Error) => heard.push(`error ${error.message}`));
  if (watched)
    watchReceiver(receiver, {
      maxMessageBytes: MAX_MESSAGE_BYTES,
      takeSmall: (chunk) =>
        takeSmallMessages(chunk, MAX_MESSAGE_BYTES, (text) => {
          taken += 1;
          heard.push(text);
        }),
      messageTooLong: () => {},
      frameTooLong: () => {},
    });
  // Unmasking is done in place.
  for (const chunk of chunks) receiver.write(Buffer.from(chunk));
  // Streams tell of errors a little later.
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

describe("watchFrames", () => {
  it("changes nothing of what is heard, however the bytes are cut", async () => {
    await fc.assert(
      fc.asyncProperty(wire, async ([bytes, cuts]) => {
        const chunks = cut(bytes, cuts);
        expect((await receive(chunks, true)).heard).toEqual((await receive(chunks, false)).heard);
      }),
      { numRuns: 500 },
    );
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
});
