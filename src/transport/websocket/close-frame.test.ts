import { expect, it } from "vitest";
import { closeFrame } from "./close-frame.ts";

const bytesOf = (reason: string): number => Buffer.byteLength(reason);

it.each(["", "bye", "x".repeat(123), "ä".repeat(61)])("keeps a reason that fits: %j", (reason) => {
  expect(closeFrame({ code: 1000, reason })).toEqual({ code: 1000, reason });
});

it.each(["x".repeat(124), "ä".repeat(62), `x${"\u{1f600}".repeat(40)}`, "€".repeat(10_000)])(
  "cuts a longer one between two characters, and shows the cut",
  (reason) => {
    const { reason: sent } = closeFrame({ code: 1000, reason });
    expect(bytesOf(sent)).toBeLessThanOrEqual(123);
    expect(bytesOf(sent)).toBeGreaterThan(116);
    expect(sent.endsWith("…")).toBe(true);
    expect(reason.startsWith(sent.slice(0, -1))).toBe(true);
    expect(Buffer.from(sent).toString()).toBe(sent);
  },
);

it.each([1000, 1003, 1007, 1014, 3000, 4010, 4999])("keeps the code %d", (code) => {
  expect(closeFrame({ code, reason: "" }).code).toBe(code);
});

it.each([-1, 0, 999, 1004, 1005, 1006, 1015, 2999, 5000, Number.NaN, Number.POSITIVE_INFINITY, 1000.5])(
  "sends an internal error instead of the code %d, which no frame has",
  (code) => {
    expect(closeFrame({ code, reason: "" }).code).toBe(1011);
  },
);
