import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { base64Between, base64Into, base64Length } from "./base64-into.ts";

describe("base64Into", () => {
  it("writes what Node writes, there and nowhere else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100_000, size: "max" }), fc.nat({ max: 64 }), (bytes, start) => {
        const expected = Buffer.from(bytes).toString("base64");
        const target = Buffer.alloc(start + expected.length + 64, "#");
        const end = base64Into(target, start, bytes);
        expect(target.toString("latin1")).toBe("#".repeat(start) + expected + "#".repeat(64));
        expect(end).toBe(start + base64Length(bytes.length));
      }),
    );
  });

  it("takes a part of a larger buffer for what it is", () => {
    const whole = Buffer.from("0123456789");
    const target = Buffer.alloc(8);
    base64Into(target, 0, whole.subarray(3, 9));
    expect(target.toString("latin1")).toBe(Buffer.from("345678").toString("base64"));
  });

  it("puts text around them", () => {
    expect(base64Between('{"a":"', Buffer.from("abcd"), '"}').toString()).toBe('{"a":"YWJjZA=="}');
    expect(base64Between("", Buffer.alloc(0), "").length).toBe(0);
  });

  it("refuses to write beyond the buffer", () => {
    expect(() => base64Into(Buffer.alloc(7), 0, Buffer.alloc(4))).toThrow(RangeError);
    expect(() => base64Into(Buffer.alloc(9), 2, Buffer.alloc(4))).toThrow(RangeError);
  });
});
