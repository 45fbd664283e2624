import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase64 } from "../base/base64.ts";
import { parseMessage } from "../protocol/envelope.ts";
import { liftLongString } from "../transport/long-string.ts";
import { parseLongRequest } from "./attachment.ts";

const LONG = 50_000;

/** The result of a message: the request with its bytes decoded, or the error. */
function outcome(parse: () => object, bytesOf: (params: Record<string, unknown>) => unknown): unknown {
  try {
    const message = parse();
    const { params } = message as { params?: Record<string, unknown> | null };
    if (typeof params !== "object" || params === null) return message;
    return { ...message, params: { ...params, dataBase64: bytesOf(params) } };
  } catch (error) {
    return String(error);
  }
}

function asText(text: string): unknown {
  return outcome(
    () => parseMessage(text),
    ({ dataBase64 }) => decoded(dataBase64),
  );
}

function asBytes(text: string): unknown {
  const long = liftLongString(Buffer.from(text));
  const request = long && parseLongRequest(long);
  if (request === undefined) {
    // Whatever was tried, the text is unchanged.
    if (long !== undefined) expect(long.text() === text).toBe(true);
    return asText(text);
  }
  const { attachment, ...message } = request;
  return outcome(
    () => ({ kind: "request", ...message }),
    () => binary(attachment!.bytes),
  );
}

function decoded(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return binary(decodeBase64(value, Error));
  } catch (error) {
    return String(error);
  }
}

function binary(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

/** Pseudo-random bytes, the same for the same seed. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  let state = seed;
  for (let index = 0; index < length; index += 1) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    bytes[index] = state >>> 16;
  }
  return bytes;
}

const base64 = fc
  .tuple(fc.integer({ min: LONG, max: LONG + 300 }), fc.nat(1000))
  .map(([length, seed]) => noise(length, seed).toString("base64"));

const faults = [
  "-",
  "_",
  "=",
  " ",
  "\\n",
  "\\u0041",
  '\\"',
  "\\\\",
  "é",
  "\u0001",
  '"',
  "\\",
  "==",
  "A",
  "\\ud800",
];

/** Base64 with something in it that may not be there. */
const spoilt = fc.tuple(base64, fc.constantFrom(...faults), fc.nat(999)).map(([text, fault, where]) => {
  const at = Math.floor((where * text.length) / 1000);
  return text.slice(0, at) + fault + text.slice(at + fault.length);
});

const value = fc.oneof(base64, spoilt);

const message = fc
  .tuple(value, fc.constantFrom("fs/writeFile", "fs/readFile", "nobody/knows"), fc.nat(12))
  .map(([text, method, form]) => {
    const head = `{"id":7,"method":"${method}","params":`;
    return [
      `${head}{"path":"file:///a","dataBase64":"${text}"}}`,
      `${head}{"dataBase64":"${text}","path":"file:///\u00e9\\u00e9"}}`,
      `{"params":{"dataBase64":"${text}"},"method":"${method}","id":"x"}`,
      `${head}{"dataBase64":"x","dataBase64":"${text}"}}`,
      `${head}{"dataBase64":"${text}","dataBase64":"x"}}`,
      `${head}{"dataBase64":{"dataBase64":"${text}"}}}`,
      `${head}{"${text}":"dataBase64"}}`,
      `${head}["${text}"]}`,
      `{"id":"${text}","method":"${method}","params":{}}`,
      `{"method":"${method}","params":{"dataBase64":"${text}"}}`,
      `${head}{"dataBase64":"${text}","more":"<attached>"}}`,
      `${head}{"dataBase64":"${text}"`,
      `${head}{"dataBase64":"${text}"}} {`,
    ][form]!;
  });

describe("a long message", () => {
  it("comes to the same whether its long string is lifted out or not", () => {
    fc.assert(
      fc.property(message, (text) => {
        expect(asBytes(text)).toEqual(asText(text));
      }),
      { numRuns: 60 },
    );
  });

  it("is not taken for another by what stands for the long string meanwhile", () => {
    const text = noise(LONG, 3).toString("base64");
    for (const spelling of ["<attached>", "\\u003cattached>", "\\u003Cattached\\u003e"]) {
      const fooling = `{"id":1,"method":"fs/writeFile","params":{"dataBase64":"${spelling}","more":"${text}"}}`;
      expect(asBytes(fooling)).toEqual(asText(fooling));
    }
  });

  it("gives the bytes of its long string without making text of it", () => {
    const bytes = noise(LONG + 1, 5);
    const text = `{"id":1,"method":"fs/writeFile","params":{"path":"file:///a","dataBase64":"${bytes.toString("base64")}"}}`;
    const { attachment, ...request } = parseLongRequest(liftLongString(Buffer.from(text))!)!;
    expect(request).toEqual({
      id: "1",
      method: "fs/writeFile",
      params: { path: "file:///a", dataBase64: "<attached>" },
    });
    expect(bytes.equals(attachment!.bytes)).toBe(true);
  });
});
