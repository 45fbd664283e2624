import { expect, it } from "vitest";
import { partToWrite } from "./part-to-write.ts";

it.each([
  ["nothing", new Uint8Array(0), 0],
  ["one zero", new Uint8Array(1), 0],
  ["zeros", new Uint8Array(4096), 4095],
  ["a first byte", Uint8Array.of(1, 0, 0), 0],
  ["a byte in between", Uint8Array.of(0, 1, 0), 0],
  ["a last byte", Uint8Array.of(0, 0, 1), 0],
  ["zeros in an array of others", Uint8Array.of(1, 0, 0, 0, 1).subarray(1, 4), 2],
])("of a block with %s, everything is written unless all of it is zero", (_, block, skipped) => {
  expect(partToWrite(block)).toEqual({ skipped, bytes: block.subarray(skipped) });
});
