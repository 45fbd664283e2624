import { expect, it } from "vitest";
import { bitString, integer, objectId, octetString, sequence, time } from "./der.ts";

const hex = (der: Buffer): string => der.toString("hex");

it.each([
  [integer(0), "020100"],
  [integer(0x7f), "02017f"],
  [integer(0x80), "02020080"],
  [integer(Buffer.from("0000ff01", "hex")), "020300ff01"],
  [integer(Buffer.from("0001", "hex")), "020101"],
  [bitString(Buffer.of(4), 2), "03020204"],
  [objectId("1.2.840.10045.4.3.2"), "06082a8648ce3d040302"],
  [objectId("2.5.29.17"), "0603551d11"],
  [sequence(integer(1), integer(2)), "3006020101020102"],
  [time(new Date("2026-11-19T17:23:03.682Z")), `170d${Buffer.from("261119172303Z").toString("hex")}`],
  [time(new Date("2050-01-01T00:00:00Z")), `180f${Buffer.from("20500101000000Z").toString("hex")}`],
])("writes element %#", (der, expected) => {
  expect(hex(der)).toBe(expected);
});

it.each([
  [0x7f, "047f"],
  [0x80, "048180"],
  [0xff, "0481ff"],
  [0x100, "04820100"],
  [0x1_0000, "0483010000"],
])("writes the length %i", (length, expected) => {
  expect(hex(octetString(Buffer.alloc(length)).subarray(0, expected.length / 2))).toBe(expected);
});
