import { expect, it } from "vitest";
import { partToWrite } from "./part-to-write.ts";

it.each([
  ["nothing", new Uint8Array(0), 0],
  ["one zero", new Uint8Array(1), 0],
  ["zeros", new Uint8Array(4096), 4095],
  ["a first byte", Uint8Array.of(1, 0, 0), 0],
  ["a byte in between", Uint8Array.of(0, 1, 0), 0],
  ["a last byte", Uint8Array.of(0, 0, 1), 0],
  ["few zeros", new Uint8Array(3), 0],
  ["zeros in an array of others", Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 1).subarray(1, 7), 5],
])("of a block with %s, everything is written unless all of it is zero", (_, block, skipped) => {
  expect(partToWrite(block)).toEqual({ skipped, bytes: block.subarray(skipped) });
});

it("a single byte that is not zero is found, wherever it is", () => {
  for (let start = 0; start < 4; start += 1)
    for (let length = 4; length < 14; length += 1)
      for (let place = 0; place < length; place += 1) {
        const block = new Uint8Array(20).subarray(start, start + length);
        expect(partToWrite(block).skipped).toBe(length - 1);
        block[place] = 1;
        expect(partToWrite(block).skipped).toBe(0);
      }
});
