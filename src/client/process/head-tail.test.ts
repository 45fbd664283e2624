import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HeadTail, omittedLine } from "./head-tail.ts";

const utf8 = new TextEncoder();
const collect = (options: { maxBytes: number; headBytes?: number }, ...pieces: string[]): HeadTail => {
  const collected = new HeadTail(options);
  for (const piece of pieces) collected.push(utf8.encode(piece));
  return collected;
};
const isPrefix = (part: Uint8Array, whole: Uint8Array): boolean =>
  Buffer.from(part).equals(Buffer.from(whole.subarray(0, part.length)));
const isSuffix = (part: Uint8Array, whole: Uint8Array): boolean =>
  Buffer.from(part).equals(Buffer.from(whole.subarray(whole.length - part.length)));

/** A failure is not made smaller for minutes. */
const SEARCH = { interruptAfterTimeLimit: 5_000 };

const bounds = fc
  .record({
    // The larger ones begin with less memory than they may have.
    maxBytes: fc.oneof(fc.nat({ max: 200 }), fc.integer({ min: 2_000, max: 3_000 })),
    share: fc.nat({ max: 100 }),
  })
  .map(({ maxBytes, share }) => ({ maxBytes, headBytes: Math.floor((maxBytes * share) / 100) }));

describe("HeadTail", () => {
  it("keeps everything up to its cap", () => {
    const collected = collect({ maxBytes: 6 }, "ab", "cd", "ef");
    expect(collected.text({ marker: omittedLine })).toBe("abcdef");
    expect(collected.omittedBytes).toBe(0);
  });

  it("keeps the first and the last half and counts what lies between", () => {
    const collected = collect({ maxBytes: 6 }, "abc", "defg", "hij");
    expect(collected.text()).toBe("abchij");
    expect(collected.omittedBytes).toBe(4);
    expect(collected.totalBytes).toBe(10);
  });

  it("keeps as much of the beginning as requested", () => {
    expect(collect({ maxBytes: 4, headBytes: 0 }, "abcdefgh").text()).toBe("efgh");
    expect(collect({ maxBytes: 4, headBytes: 4 }, "abcdefgh").text()).toBe("abcd");
    expect(collect({ maxBytes: 4, headBytes: 1 }, "abcdefgh").text()).toBe("afgh");
  });

  it("puts the marker on a line of its own", () => {
    expect(collect({ maxBytes: 6 }, "abc", "12345", "xyz").text({ marker: omittedLine })).toBe(
      "abc\n… 5 bytes omitted …\nxyz",
    );
    expect(collect({ maxBytes: 6 }, "ab\n", "1", "xyz").text({ marker: omittedLine })).toBe(
      "ab\n… 1 byte omitted …\nxyz",
    );
    expect(collect({ maxBytes: 0 }, "abc").text({ marker: omittedLine })).toBe("… 3 bytes omitted …\n");
  });

  it("counts parts of characters at the cut as omitted", () => {
    const collected = collect({ maxBytes: 8 }, "aäöü", "12345", "äöüz");
    expect(collected.text()).toBe("aäüz");
    expect(collected.omittedBytes).toBe(collected.totalBytes - utf8.encode("aäüz").length);
  });

  it("cuts bytes that are no UTF-8 where its halves end", () => {
    const collected = new HeadTail({ maxBytes: 12 });
    collected.push(new Uint8Array(30).fill(0x80));
    expect(collected.bytes()).toEqual(new Uint8Array(12).fill(0x80));
  });

  it("shows less than it keeps when asked, around what is missing already", () => {
    const collected = collect({ maxBytes: 8, headBytes: 2 }, "abcdefghijklmnop");
    expect(collected.text({ maxBytes: 6 })).toBe("abmnop");
    expect(collected.text({ maxBytes: 2 })).toBe("ap");
    expect(collected.view(2).omittedBytes).toBe(14);
    const tailless = collect({ maxBytes: 8, headBytes: 7 }, "abcdefghijklmnop");
    expect(tailless.text({ maxBytes: 6 })).toBe("abcp");
  });

  it("is empty after it was cleared", () => {
    const collected = collect({ maxBytes: 4 }, "abcdefgh");
    collected.clear();
    expect([collected.totalBytes, collected.omittedBytes, collected.text()]).toEqual([0, 0, ""]);
    collected.push(utf8.encode("xyz"));
    expect(collected.text()).toBe("xyz");
  });

  it("is not changed through the buffer it was given or the one it gave", () => {
    const piece = utf8.encode("abcdef");
    const collected = new HeadTail({ maxBytes: 6 });
    collected.push(piece);
    piece.fill(0);
    collected.bytes().fill(0);
    expect(collected.text()).toBe("abcdef");
  });

  it("refuses bounds that make no sense", () => {
    expect(() => new HeadTail({ maxBytes: -1 })).toThrow("maxBytes must be");
    expect(() => new HeadTail({ maxBytes: 1.5 })).toThrow("maxBytes must be");
    expect(() => new HeadTail({ maxBytes: 4, headBytes: 5 })).toThrow("headBytes must be");
  });

  it("shows a beginning and an end that make up the whole with what is omitted, within every cap", () => {
    fc.assert(
      fc.property(
        bounds,
        fc.array(fc.uint8Array({ maxLength: 400, size: "max" }), { maxLength: 20, size: "max" }),
        fc.option(fc.nat({ max: 4_000 }), { nil: undefined }),
        (options, pieces, shown) => {
          const collected = new HeadTail(options);
          for (const piece of pieces) collected.push(piece);
          const whole = new Uint8Array(Buffer.concat(pieces));
          const { head, tail, omittedBytes } = collected.view(shown);
          expect(head.length + omittedBytes + tail.length).toBe(whole.length);
          expect(collected.totalBytes).toBe(whole.length);
          expect(head.length + tail.length).toBeLessThanOrEqual(
            Math.min(options.maxBytes, shown ?? Infinity),
          );
          expect(isPrefix(head, whole)).toBe(true);
          expect(isSuffix(tail, whole)).toBe(true);
          if (whole.length <= Math.min(options.maxBytes, shown ?? Infinity)) expect(omittedBytes).toBe(0);
          if (shown === undefined) expect(collected.omittedBytes).toBe(omittedBytes);
          // At most three bytes of a character are cut away at each end.
          else if (options.headBytes === Math.floor(options.maxBytes / 2))
            expect(head.length + tail.length).toBeGreaterThanOrEqual(
              Math.min(options.maxBytes, shown, whole.length) - 6,
            );
        },
      ),
      SEARCH,
    );
  });

  it("never tears a character, whatever the pieces", () => {
    fc.assert(
      fc.property(
        bounds,
        fc.string({ unit: "grapheme", maxLength: 1_500, size: "max" }),
        fc.integer({ min: 1, max: 7 }),
        (options, text, step) => {
          const whole = utf8.encode(text);
          const collected = new HeadTail(options);
          for (let start = 0; start < whole.length; start += step)
            collected.push(whole.subarray(start, start + step));
          const { head, tail } = collected.view();
          const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
          expect(text.startsWith(strict.decode(head))).toBe(true);
          expect(text.endsWith(strict.decode(tail))).toBe(true);
          if (whole.length <= options.maxBytes) expect(collected.text()).toBe(text);
        },
      ),
      SEARCH,
    );
  });

  it("takes many small pieces in time, because it does not move what it keeps", () => {
    const collected = new HeadTail({ maxBytes: 256 * 1024, headBytes: 0 });
    const piece = new Uint8Array(1).fill(0x61);
    for (let count = 0; count < 500_000; count += 1) collected.push(piece);
    expect(collected.omittedBytes).toBe(500_000 - 256 * 1024);
  });
});
