import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { base64Param } from "../base/base64-bytes.ts";
import { parseMessage } from "../protocol/envelope.ts";
import { MAX_DIFFERENT_KEYS, MAX_JSON_VALUES, MAX_MESSAGE_BYTES } from "../protocol/wire-limits.ts";
import { encodeRequest } from "./encode-request.ts";

afterEach(() => vi.unstubAllGlobals());

test("a megabyte of bytes is one value, and is sent as its base64", () => {
  const bytes = new Uint8Array(1024 * 1024).fill(7);
  const text = encodeRequest("1", "fs/writeBlock", { handleId: "h", offset: 0, chunk: base64Param(bytes) });
  const { params } = JSON.parse(text) as { params: { chunk: string } };
  expect(params.chunk).toBe(Buffer.from(bytes).toString("base64"));
});

test.each([
  [
    "names",
    // The message, its id and method, the parameters and what holds the rest.
    MAX_JSON_VALUES - 5,
    (count: number) => ({ names: Array.from({ length: count }, () => "") }),
    "262144 values",
  ],
  [
    "members of equal names",
    (MAX_JSON_VALUES - 5) / 3,
    (count: number) => ({ rows: Array.from({ length: count }, () => ({ a: 1, b: 2 })) }),
    "262144 values",
  ],
  [
    "members of different names",
    // Keys of the message itself, and the one that holds the rest.
    MAX_DIFFERENT_KEYS - 4,
    (count: number) => ({ env: Object.fromEntries(Array.from({ length: count }, (_, at) => [at, 1])) }),
    "16384 different keys",
  ],
])("as many %s are sent as a server reads, and not one more", (_, limit, paramsOf, why) => {
  const most = Math.floor(limit);
  expect(() => parseMessage(encodeRequest("1", "m", paramsOf(most)))).not.toThrow();
  expect(() => encodeRequest("1", "m", paramsOf(most + 1))).toThrow(
    `m cannot be sent: it has more than ${why}`,
  );
  expect(() => parseMessage(JSON.stringify({ id: 1, method: "m", params: paramsOf(most + 1) }))).toThrow();
});

test("members that are undefined are not sent, and do not count", () => {
  const many = Object.fromEntries(Array.from({ length: MAX_JSON_VALUES }, (_, at) => [at, undefined]));
  const names = Array.from({ length: MAX_JSON_VALUES - 6 }, () => "");
  expect(() => encodeRequest("1", "m", { names, many })).not.toThrow();
});

test("values in each other count, too", () => {
  const rows = Array.from({ length: MAX_JSON_VALUES / 4 }, () => [0, 0, 0]);
  expect(() => encodeRequest("1", "m", { rows })).toThrow("values");
  expect(() => encodeRequest("1", "m", { rows: rows.slice(2) })).not.toThrow();
});

test("text is sent unless it holds half of a surrogate pair, however it is mixed with what looks like one", () => {
  const pieces = fc.constantFrom(
    "\\",
    "\\u",
    "ud8",
    "d800",
    "ud7",
    "a",
    "\ud7ff",
    "\ud800",
    "\udfff",
    "\u{1f600}",
    '"',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
      const path = parts.join("");
      const encode = (): string => encodeRequest("1", "m", { path });
      if (Buffer.from(path).toString() === path)
        expect(JSON.parse(encode())).toMatchObject({ params: { path } });
      else expect(encode).toThrow("m cannot be sent: it contains half of a surrogate pair");
    }),
    { numRuns: 500 },
  );
});

test.each([
  [
    "a cycle",
    () => {
      const params: Record<string, unknown> = {};
      params["self"] = params;
      return params;
    },
  ],
  ["a BigInt", () => ({ offset: 1n })],
])("%s is refused with what is wrong", (_, paramsOf) => {
  expect(() => encodeRequest("1", "m", paramsOf())).toThrow(/^m cannot be sent: .+/);
});

test.each([
  ["where there is a Buffer", Buffer],
  ["where there is none", undefined],
])("text of every kind is sent up to the longest message, by its bytes, %s", async (_, buffer) => {
  vi.stubGlobal("Buffer", buffer);
  vi.resetModules();
  const { encodeRequest: encode } = await import("./encode-request.ts");
  const around = JSON.stringify({ id: 1, method: "m", params: { path: "" } }).length;
  const unit = "aü€\u{1f600}";
  const unitBytes = 1 + 2 + 3 + 4;
  const room = MAX_MESSAGE_BYTES - around;
  const longest = unit.repeat(Math.floor(room / unitBytes)) + "x".repeat(room % unitBytes);
  expect(encode("1", "m", { path: longest }).length).toBeGreaterThan(0);
  const refusal = `m cannot be sent: it is longer than ${MAX_MESSAGE_BYTES} bytes`;
  expect(() => encode("1", "m", { path: `${longest}x` })).toThrow(refusal);
  expect(() => encode("1", "m", { path: "x".repeat(MAX_MESSAGE_BYTES) })).toThrow(refusal);
});
