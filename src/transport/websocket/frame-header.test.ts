import { expect, it } from "vitest";
import { FrameHeader, plainHeader } from "./frame-header.ts";

it.each([
  [0, 2],
  [125, 2],
  [126, 4],
  [0xffff, 4],
  [0x1_0000, 10],
  [4 * 1024 * 1024, 10],
])("the header for %i bytes is the shortest one, and says so", (payloadBytes, bytes) => {
  const header = plainHeader(payloadBytes);
  const read = new FrameHeader();
  expect(read.read(header, 0, header.length)).toBe(true);
  expect(read).toMatchObject({ opcode: 1, isFinal: true, isMasked: false, payloadBytes, bytes });
  expect(header).toHaveLength(bytes);
});
