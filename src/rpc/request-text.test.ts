import { describe, expect, it } from "vitest";
import { MAX_TEXT_CHARACTERS } from "../protocol/wire-limits.ts";
import { isTextOf, isTooMuchText } from "./request-text.ts";

const HALF = "x".repeat(MAX_TEXT_CHARACTERS / 2);

function isTooMuch(params: unknown): boolean {
  return isTooMuchText(params, Number.POSITIVE_INFINITY);
}

describe("text of a request", () => {
  it("is counted over all strings, at any depth", () => {
    expect(isTooMuch([HALF, [HALF]])).toBe(false);
    expect(isTooMuch([HALF, [HALF], "x"])).toBe(true);
    expect(isTooMuch([HALF, [[HALF, "x"]]])).toBe(true);
    expect(isTooMuch(`${HALF}${HALF}x`)).toBe(true);
  });

  it("includes the keys, which a peer chooses", () => {
    expect(isTooMuch({ a: HALF, b: HALF.slice(2) })).toBe(false);
    expect(isTooMuch({ a: HALF, bc: HALF.slice(2) })).toBe(true);
  });

  it("does not include data", () => {
    const data = `${HALF}${HALF}`;
    expect(isTooMuch({ chunk: data, body: { bodyBase64: data, dataBase64: data } })).toBe(false);
    expect(isTooMuch({ path: data })).toBe(true);
  });

  it("is not counted in a message that is too short to have too much", () => {
    expect(isTooMuchText([HALF, HALF, "x"], MAX_TEXT_CHARACTERS)).toBe(false);
    expect(isTooMuchText([HALF, HALF, "x"], MAX_TEXT_CHARACTERS + 1)).toBe(true);
  });

  it("holds other values than text", () => {
    expect(isTooMuch(undefined)).toBe(false);
    expect(isTooMuch([null, 1, true, {}])).toBe(false);
  });
});

it("finds a text that is not data", () => {
  expect(isTextOf("long", "long")).toBe(true);
  expect(isTextOf({ a: [{ b: "long" }] }, "long")).toBe(true);
  expect(isTextOf({ a: [{ chunk: "long" }] }, "long")).toBe(false);
  expect(isTextOf({ long: null }, "long")).toBe(false);
  expect(isTextOf(null, "long")).toBe(false);
});
