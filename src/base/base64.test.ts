import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { decodeBase64, decodeBase64InPlace, encodeBase64 } from "./base64.ts";

const anyBytes = fc.uint8Array({ maxLength: 5_000, size: "max" });

it("encodes as Node does, and decodes what it encodes", () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      const base64 = encodeBase64(bytes);
      expect(base64).toBe(Buffer.from(bytes).toString("base64"));
      expect(Buffer.from(decodeBase64(base64, Error)).equals(bytes)).toBe(true);
    }),
  );
});

it("does the same where there is no Buffer, as in browsers", async () => {
  const { encodeBase64: encode, decodeBase64: decode } = await withoutBuffer(() => import("./base64.ts"));
  const lengths = fc.oneof(fc.nat(2_000), fc.integer({ min: 32_000, max: 100_000 }));
  fc.assert(
    fc.property(lengths, fc.nat(255), (length, first) => {
      const bytes = Uint8Array.from({ length }, (_, index) => (first + index * index) % 251);
      const base64 = encode(bytes);
      expect(base64 === Buffer.from(bytes).toString("base64")).toBe(true);
      expect(Buffer.from(decode(base64, Error)).equals(bytes)).toBe(true);
    }),
    { numRuns: 20 },
  );
});

/** A module looks for it when it is loaded. */
async function withoutBuffer<T>(load: () => Promise<T>): Promise<T> {
  vi.resetModules();
  vi.stubGlobal("Buffer", undefined);
  try {
    return await load();
  } finally {
    vi.unstubAllGlobals();
  }
}

it.each([
  ["YQ", "Invalid padding"],
  ["*QQQ", "Invalid symbol 42, offset 0."],
  ["ab-_", "Invalid symbol 45, offset 2."],
  ["YW Jj", "Invalid symbol 32, offset 2."],
  ["YW\u014aj", "Invalid symbol 197, offset 2."],
  ["YR==", "Invalid last symbol 82, offset 1."],
  ["YWJjZ", "Invalid input length: 5"],
  ["YQ==YQ==", "Invalid symbol 61, offset 2."],
])("refuses %j", (text, message) => {
  expect(() => decodeBase64(text, (reason) => new RangeError(reason))).toThrow(new RangeError(message));
});

describe("decoding in place", () => {
  const length = fc.oneof(fc.nat(20), fc.integer({ min: 49_000, max: 100_000 }));
  const text = fc
    .tuple(length, fc.nat(255))
    .map(([bytes, first]) =>
      encodeBase64(Uint8Array.from({ length: bytes }, (_, index) => (first + index * index) % 251)),
    );

  it("gives the same bytes", () => {
    fc.assert(
      fc.property(text, (base64) => {
        expect(
          Buffer.from(decodeBase64InPlace(Buffer.from(base64))!).equals(decodeBase64(base64, Error)),
        ).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  it("leaves alone what is not base64", () => {
    const where = fc.nat(999).map((thousandths) => thousandths / 1000);
    fc.assert(
      fc.property(
        text,
        fc.constantFrom(" ", "=", "*", "-", "_", "\n", "\u00e9"),
        where,
        (base64, fault, at) => {
          const spoilt = Buffer.from(base64, "latin1");
          spoilt[Math.floor(at * spoilt.length)] = fault.charCodeAt(0);
          const before = Buffer.from(spoilt);
          const isFault = !isBase64(before.toString("latin1"));
          const result = decodeBase64InPlace(spoilt);
          expect(result === undefined).toBe(isFault);
          if (isFault) expect(spoilt.equals(before)).toBe(true);
        },
      ),
      { numRuns: 50 },
    );
  });
});

function isBase64(text: string): boolean {
  try {
    decodeBase64(text, Error);
    return true;
  } catch {
    return false;
  }
}
