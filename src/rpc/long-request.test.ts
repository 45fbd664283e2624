import { expect, test } from "vitest";
import { Base64Bytes } from "../base/base64-bytes.ts";
import { MAX_MESSAGE_BYTES } from "../protocol/wire-limits.ts";
import { encodeLongRequest } from "./long-request.ts";

const MIB = 1024 * 1024;
/** A piece that is encoded at once. */
const PIECE = 24 * 1024;
/** Not as long as anything that is cut. */
const PATTERN = Buffer.from(Array.from({ length: 251 }, (_, at) => at));

function bytesOf(length: number): Uint8Array {
  return Buffer.alloc(length, PATTERN);
}

function encode(params: object): { message: Uint8Array; text: string; release: () => void } {
  const long = encodeLongRequest("7", "fs/writeBlock", params)!;
  return { ...long, text: Buffer.from(long.message).toString() };
}

test.each([0, 1, 2, 3, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 2, MIB])(
  "%i bytes are sent as the same message that their text would be",
  (length) => {
    const bytes = bytesOf(length);
    const { text } = encode({ handleId: 'h"\\', chunk: new Base64Bytes(bytes), offset: 5 });
    expect(JSON.parse(text)).toEqual({
      id: 7,
      method: "fs/writeBlock",
      params: { handleId: 'h"\\', offset: 5, chunk: Buffer.from(bytes).toString("base64") },
    });
  },
);

test("only the bytes of a view are sent, not those around it", () => {
  const { text } = encode({ chunk: new Base64Bytes(bytesOf(100).subarray(10, 20)) });
  expect(JSON.parse(text)).toMatchObject({
    params: { chunk: Buffer.from(bytesOf(100).subarray(10, 20)).toString("base64") },
  });
});

test.each([
  ["no parameters", undefined],
  ["parameters that are null", null],
  ["parameters without bytes", { chunk: "eA==" }],
  [
    "a parameter that has the name of the place of the bytes",
    { bytes: "x", chunk: new Base64Bytes(bytesOf(3)) },
  ],
  ["text beyond ASCII", { name: "ü", chunk: new Base64Bytes(bytesOf(3)) }],
  ["an escaped character", { name: "\u0001", chunk: new Base64Bytes(bytesOf(3)) }],
  ["two members of bytes", { a: new Base64Bytes(bytesOf(3)), bytes: new Base64Bytes(bytesOf(3)) }],
])("%s are sent as text", (_, params) => {
  expect(encodeLongRequest("7", "m", params)).toBeUndefined();
});

test("a message of exactly the longest length is sent, and a longer one is left to who refuses it", () => {
  const around = encode({ chunk: new Base64Bytes(new Uint8Array(0)) }).text.length;
  const most = Math.floor((MAX_MESSAGE_BYTES - around) / 4) * 3;
  const fill = (MAX_MESSAGE_BYTES - around) % 4;
  const method = `fs/writeBlock${"x".repeat(fill)}`;
  const longest = encodeLongRequest("7", method, { chunk: new Base64Bytes(new Uint8Array(most)) });
  expect(longest!.message.length).toBe(MAX_MESSAGE_BYTES);
  const longer = new Base64Bytes(new Uint8Array(most));
  expect(encodeLongRequest("7", `${method}x`, { chunk: longer })).toBeUndefined();
});

test("memory is used again once it is released, and not before", () => {
  const first = encode({ chunk: new Base64Bytes(bytesOf(MIB / 2)) });
  const second = encode({ chunk: new Base64Bytes(bytesOf(MIB / 2)) });
  expect(second.message.buffer).not.toBe(first.message.buffer);
  first.release();
  const third = encode({ chunk: new Base64Bytes(bytesOf(10)) });
  expect(third.message.buffer).toBe(first.message.buffer);
  expect(JSON.parse(third.text)).toMatchObject({
    params: { chunk: Buffer.from(bytesOf(10)).toString("base64") },
  });
  second.release();
  third.release();
});

test("memory that is too short for a message is left for shorter ones", () => {
  const short = encode({ chunk: new Base64Bytes(bytesOf(10)) });
  short.release();
  const long = encode({ chunk: new Base64Bytes(bytesOf(MIB)) });
  expect(long.message.buffer.byteLength).toBeGreaterThanOrEqual(long.message.length);
  expect(JSON.parse(long.text)).toMatchObject({
    params: { chunk: Buffer.from(bytesOf(MIB)).toString("base64") },
  });
  long.release();
});

test("no more than six buffers of at most two mebibytes are kept", () => {
  const many = Array.from({ length: 8 }, () => encode({ chunk: new Base64Bytes(bytesOf(MIB / 2)) }));
  const memory = new Set(many.map(({ message }) => message.buffer));
  expect(memory.size).toBe(8);
  for (const { release } of many) release();
  const again = Array.from({ length: 8 }, () => encode({ chunk: new Base64Bytes(bytesOf(10)) }));
  expect(again.filter(({ message }) => memory.has(message.buffer))).toHaveLength(6);
  const huge = encode({ chunk: new Base64Bytes(bytesOf(2 * MIB)) });
  huge.release();
  expect(encode({ chunk: new Base64Bytes(bytesOf(10)) }).message.buffer).not.toBe(huge.message.buffer);
});
