import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_FRAME_BYTES, MAX_MESSAGE_BYTES } from "../../protocol/wire-limits.ts";
import { FrameScanner } from "./frame-scanner.ts";

/**
 * A masked frame's header and, for short ones, its payload. `first` is its first byte. Default: a complete text
 * message.
 */
function frame(length: number, withPayload = true, first = 0x81): Buffer {
  const header = length < 126 ? [length] : length < 65_536 ? [126, length >> 8, length & 255] : [127];
  const bytes = Buffer.from([first, header[0]! | 0x80, ...header.slice(1)]);
  const long = Buffer.alloc(length < 65_536 ? 0 : 8);
  if (long.length > 0) long.writeBigUInt64BE(BigInt(length));
  return Buffer.concat([bytes, long, Buffer.alloc(4), Buffer.alloc(withPayload ? length : 0, 0xff)]);
}

describe("FrameScanner", () => {
  it("takes a frame of the greatest length and refuses one more byte, at its header", () => {
    expect(new FrameScanner("server").accepts(frame(MAX_FRAME_BYTES, false))).toBe(true);
    expect(new FrameScanner("server").accepts(frame(MAX_FRAME_BYTES + 1, false))).toBe(false);
  });

  it("takes a frame from a server that is as long as a message may be", () => {
    expect(new FrameScanner("client").accepts(frame(MAX_MESSAGE_BYTES, false))).toBe(true);
    expect(new FrameScanner("client").accepts(frame(MAX_MESSAGE_BYTES + 1, false))).toBe(false);
  });

  it("refuses a message that is longer than the limit, with the fragment that makes it so", () => {
    const begin = frame(600, true, 0x01);
    const ping = frame(100, true, 0x89);
    const fits = new FrameScanner("server", 1000);
    for (const piece of [begin, ping, frame(400, true, 0x80), frame(1000), frame(1000)])
      expect(fits.accepts(piece)).toBe(true);
    const tooLong = new FrameScanner("server", 1000);
    expect(tooLong.accepts(begin)).toBe(true);
    expect(tooLong.accepts(ping)).toBe(true);
    expect(tooLong.messageTooLong).toBe(false);
    expect(tooLong.accepts(frame(401, false, 0x80))).toBe(false);
    expect(tooLong.messageTooLong).toBe(true);
    expect(new FrameScanner("server", 1000).accepts(frame(1001, false))).toBe(false);
  });

  it("refuses a header that arrives in pieces as soon as its length is known", () => {
    for (const length of [1001, 70_000]) {
      const header = frame(length, false);
      const scanner = new FrameScanner("server", 1000);
      const lengthEnd = header.length - 4;
      expect(scanner.accepts(header.subarray(0, lengthEnd - 1))).toBe(true);
      expect(scanner.accepts(header.subarray(lengthEnd - 1, lengthEnd))).toBe(false);
      expect(scanner.messageTooLong).toBe(true);
    }
  });

  it("leaves messages beyond the wire's own limit to the library", () => {
    const scanner = new FrameScanner("server");
    const payload = Buffer.alloc(MAX_FRAME_BYTES);
    for (let count = 0; count < 5; count += 1) {
      expect(scanner.accepts(frame(MAX_FRAME_BYTES, false, count === 0 ? 0x01 : 0x00))).toBe(true);
      expect(scanner.accepts(payload)).toBe(true);
    }
  });

  it("finds a long frame after any others, however the bytes are cut", () => {
    const lengths = fc.array(fc.constantFrom(0, 1, 125, 126, 300, 65_535, 65_536), { maxLength: 5 });
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 70_000 }), fc.boolean(), (before, step, tooLong) => {
        const last = frame(tooLong ? MAX_FRAME_BYTES + 1 : 10, false);
        const bytes = Buffer.concat([...before.map((length) => frame(length)), last]);
        const scanner = new FrameScanner("server");
        let accepted = true;
        for (let start = 0; start < bytes.length && accepted; start += step)
          accepted = scanner.accepts(bytes.subarray(start, start + step));
        expect(accepted).toBe(!tooLong);
      }),
      { numRuns: 50 },
    );
  });
});
