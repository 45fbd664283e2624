import { expect, test, vi } from "vitest";
import { Base64Bytes } from "../../base/base64-bytes.ts";
import { ProtocolError } from "../../base/errors.ts";
import { MAX_MESSAGE_BYTES } from "../../protocol/wire-limits.ts";
import { asText, borrowBytes, decodeBytes, keepBytes, MAX_BYTES_IN_MESSAGE, ownBytes } from "./wire-bytes.ts";

const asReceived = (bytes: Base64Bytes): string => bytes as unknown as string;

test("text is decoded, and what is no base64 names what it is", () => {
  expect(decodeBytes("YWJj", "a chunk")).toEqual(Uint8Array.of(97, 98, 99));
  expect(borrowBytes("YWJj", "a chunk").release).toBeUndefined();
  expect(() => decodeBytes("?", "a chunk")).toThrow(ProtocolError);
  expect(() => decodeBytes("?", "a chunk")).toThrow("a chunk is not base64");
});

test("bytes that were received as such are borrowed, or copied and returned", () => {
  const release = vi.fn();
  const received = new Base64Bytes(Buffer.from("abc"), release);
  expect(borrowBytes(asReceived(received), "a chunk")).toBe(received);
  expect(release).not.toHaveBeenCalled();
  const kept = decodeBytes(asReceived(received), "a chunk");
  expect(release).toHaveBeenCalledOnce();
  expect(kept).toEqual(Uint8Array.of(97, 98, 99));
  expect(kept.buffer).not.toBe(received.bytes.buffer);
});

test("bytes that belong to nobody else are kept without a copy", () => {
  const bytes = Uint8Array.of(1, 2, 3);
  expect(keepBytes({ bytes }).buffer).toBe(bytes.buffer);
});

test("own bytes fill their buffer and are a plain array, with a copy only if there is more in it", () => {
  const whole = Buffer.from(Uint8Array.of(1, 2, 3).buffer);
  expect(ownBytes(whole).buffer).toBe(whole.buffer);
  expect(ownBytes(whole).constructor).toBe(Uint8Array);
  const part = Uint8Array.of(1, 2, 3, 4).subarray(1, 3);
  const own = ownBytes(part);
  expect([...own]).toEqual([2, 3]);
  expect(own.buffer.byteLength).toBe(2);
  const shared = new Uint8Array(new SharedArrayBuffer(2));
  expect(ownBytes(shared).buffer).toBeInstanceOf(ArrayBuffer);
});

test("an answer has the text of its bytes in their place", () => {
  const answer = { chunk: new Base64Bytes(Buffer.from("abc")), eof: true };
  expect(asText(answer)).toEqual({ chunk: "YWJj", eof: true });
  const plain = { chunk: "YWJj" };
  expect(asText(plain)).toBe(plain);
});

test("the most bytes of one message leave a mebibyte for the rest", () => {
  const encoded = (MAX_BYTES_IN_MESSAGE / 3) * 4;
  expect(MAX_MESSAGE_BYTES - encoded).toBe(1024 * 1024);
});
