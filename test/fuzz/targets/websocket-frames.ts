import type { Writable } from "node:stream";
import * as webSocketLibrary from "ws";
import { installFastPath } from "../../../src/transport/websocket/fast-path.ts";
import { takeSmallMessages } from "../../../src/transport/websocket/small-frames.ts";
import { Choices } from "../choices.ts";
import { chunksOf, expectEqual, expectTrue, type Target } from "../target.ts";

// Exported by the library, though its types do not say so.
const { Receiver } = webSocketLibrary as unknown as { Receiver: new (options: object) => Writable };

const MAX_MESSAGE_BYTES = 300;
const PLAN_BYTES = 16;

type Side = "client" | "server";

/** What the library makes of the chunks, with or without the fast path. */
async function hear(
  chunks: readonly Buffer[],
  side: Side,
  isFast: boolean,
): Promise<{ heard: string[]; tooLong: number }> {
  const heard: string[] = [];
  let tooLong = 0;
  const receiver = new Receiver({ isServer: side === "server", maxPayload: MAX_MESSAGE_BYTES });
  receiver.on("message", (data: Buffer, isBinary: boolean) =>
    heard.push(`${isBinary ? "binary" : "text"} ${data.toString("latin1")}`),
  );
  receiver.on("ping", (data: Buffer) => heard.push(`ping ${data.toString("latin1")}`));
  receiver.on("pong", (data: Buffer) => heard.push(`pong ${data.toString("latin1")}`));
  receiver.on("conclude", (code: number, reason: Buffer) =>
    heard.push(`close ${code} ${reason.toString("latin1")}`),
  );
  receiver.on("error", (error: Error) => heard.push(`error ${error.message}`));
  const takeSmall = (chunk: Buffer): number =>
    takeSmallMessages(chunk, MAX_MESSAGE_BYTES, (text) =>
      heard.push(`text ${Buffer.from(text).toString("latin1")}`),
    );
  if (isFast)
    installFastPath({ _receiver: receiver, extensions: "" } as unknown as webSocketLibrary.WebSocket, {
      side,
      maxMessageBytes: MAX_MESSAGE_BYTES,
      ...(side === "server" ? { takeSmall } : {}),
      messageTooLong: () => (tooLong += 1),
    });
  // Unmasking is done in place.
  for (const chunk of chunks) {
    if (receiver.destroyed || receiver.writableEnded) break;
    receiver.write(Buffer.from(chunk));
    // Errors come at the end of the turn.
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }
  return { heard, tooLong };
}

function frame(first: number, payload: Uint8Array, mask?: readonly number[]): Buffer {
  const length = payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 0xff];
  length[0]! |= mask === undefined ? 0 : 0x80;
  const body = mask === undefined ? payload : payload.map((byte, at) => byte ^ mask[at & 3]!);
  return Buffer.concat([Buffer.from([first, ...length, ...(mask ?? [])]), body]);
}

const MASK = [1, 2, 3, 4];
const text = Buffer.from('{"id":1,"method":"initialize"}');
const wide = Buffer.from("gr\u00f6\u00dfe \u6f22\u5b57");

const conversation = (mask?: readonly number[]): Buffer =>
  Buffer.concat([
    frame(0x81, text, mask),
    frame(0x81, wide, mask),
    frame(0x01, text, mask),
    frame(0x89, Buffer.from("ping"), mask),
    frame(0x80, wide, mask),
    frame(0x82, text, mask),
    frame(0x81, Buffer.alloc(200, "x"), mask),
    frame(0x88, Buffer.from([3, 232]), mask),
  ]);

const plan = (...bytes: number[]): Buffer =>
  Buffer.concat([Buffer.from(bytes), Buffer.alloc(PLAN_BYTES)]).subarray(0, PLAN_BYTES);

const FIRST_BYTES = [0x81, 0x01, 0x80, 0x00, 0x89, 0x82, 0x02, 0x8a, 0x88, 0xc1];
const LENGTHS = [0, 1, 2, 30, 125, 126, 150, 200, 299, 300, 301];

/** Frames of many kinds, most of which may follow each other. */
function frames(choices: Choices, side: Side): Buffer {
  const all: Buffer[] = [];
  for (let count = 1 + choices.below(8); count > 0 && !choices.isOver; count -= 1) {
    const first = choices.pick(FIRST_BYTES);
    const payload = Buffer.alloc(choices.pick(LENGTHS), choices.pick(["x", "\u6f22", Buffer.from([0xff])]));
    const isMasked = (side === "server") !== (choices.below(16) === 15);
    all.push(frame(first, payload, isMasked ? MASK : undefined));
  }
  return Buffer.concat(all);
}

/** The fast path hears what the library hears, and says first that a message is too long. */
export const target: Target = {
  seeds: [
    Buffer.concat([plan(0), conversation(MASK)]),
    Buffer.concat([plan(1, 0, 3, 9, 0, 40), conversation()]),
    Buffer.concat([
      plan(0, 0, 4, 0, 2, 1, 1, 0, 5),
      frame(0x01, Buffer.alloc(150, "y"), MASK),
      frame(0x80, text, MASK),
    ]),
    Buffer.concat([plan(0), frame(0x81, Buffer.alloc(400, "z"), MASK)]),
    Buffer.concat([plan(0, 1, 2, 0, 9), Buffer.from([3, 1, 3, 0, 0, 4, 1, 0, 0, 2, 3, 0, 0])]),
    Buffer.concat([plan(1, 1, 1, 1, 3), Buffer.from([2, 0, 4, 0, 0, 5, 6, 1, 0, 0, 3, 2, 0])]),
  ],
  words: [
    frame(0x81, text, MASK),
    frame(0x01, text, MASK),
    frame(0x80, text, MASK),
    frame(0x89, text, MASK),
    frame(0x80, Buffer.alloc(140, "x"), MASK),
    Buffer.from([0xfe, 1, 44]),
    Buffer.from([0x81, 0x80]),
  ],
  async run(input) {
    const choices = new Choices(input.subarray(0, PLAN_BYTES));
    const side = choices.pick<Side>(["server", "client"]);
    const rest = input.subarray(PLAN_BYTES);
    const isBuilt = choices.below(2) === 1;
    const chunks = chunksOf(isBuilt ? frames(new Choices(rest), side) : rest, choices);
    const [fast, usual] = [await hear(chunks, side, true), await hear(chunks, side, false)];
    expectEqual(fast.heard, usual.heard, "what is heard");
    const isTooLong = usual.heard.includes("error Max payload size exceeded");
    expectTrue(
      !isTooLong || fast.tooLong > 0,
      "that a message is too long is said before the connection ends",
    );
    expectTrue(fast.tooLong <= 1, "it is said once");
  },
};
