import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { FrameHeader } from "./frame-header.ts";
import { applyMask, MASK_BYTES, maskedHeader } from "./mask.ts";

it.each([0, 1, 3, 4, 5, 100, 70_001])("a payload of %i bytes is masked as its header says", (length) => {
  const header = maskedHeader(length);
  const read = new FrameHeader();
  expect(read.read(header, 0, header.length)).toBe(true);
  expect(read).toMatchObject({ opcode: 1, isFinal: true, isMasked: true, payloadBytes: length, bytes: 14 });
  const key = header.subarray(-MASK_BYTES);
  const payload = Buffer.from(randomBytes(length));
  const plain = Buffer.from(payload);
  applyMask(payload, header.readInt32LE(header.length - MASK_BYTES));
  expect(payload.equals(plain.map((byte, index) => byte ^ key[index % MASK_BYTES]!))).toBe(true);
});

it("each header has a mask of its own", () => {
  expect(maskedHeader(1).equals(maskedHeader(1))).toBe(false);
});
