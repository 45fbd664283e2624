import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatReply, parseGreeting, parseRequest, Socks5Error } from "./socks5.ts";

const NAME = Buffer.concat([Buffer.from([5, 1, 0, 3, 6]), Buffer.from("a.test"), Buffer.from([1, 187])]);
const IPV4 = Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, 0, 80]);
const IPV6 = Buffer.from([5, 1, 0, 4, ...Array.from({ length: 15 }, () => 0), 1, 31, 144]);

describe("a SOCKS 5 greeting", () => {
  it("is complete when all offered methods have come", () => {
    const greeting = Buffer.from([5, 2, 2, 0]);
    for (let length = 0; length < greeting.length; length += 1)
      expect(parseGreeting(greeting.subarray(0, length))).toBeUndefined();
    expect(parseGreeting(greeting)).toEqual({ length: 4, value: true });
    expect(parseGreeting(Buffer.from([5, 1, 2, 9]))).toEqual({ length: 3, value: false });
  });

  it.each([[[4]], [[71, 69]], [[5, 0]]])("%j is none", (bytes) => {
    expect(() => parseGreeting(Buffer.from(bytes))).toThrow(Socks5Error);
  });
});

describe("a SOCKS 5 request", () => {
  it.each([
    ["a name", NAME, { host: "a.test", port: 443 }],
    ["an IPv4 address", IPV4, { host: "127.0.0.1", port: 80 }],
    ["an IPv6 address", IPV6, { host: "::1", port: 8080 }],
  ])("with %s is read only when it is complete, whatever follows", (_what, request, value) => {
    for (let length = 0; length < request.length; length += 1)
      expect(parseRequest(request.subarray(0, length))).toBeUndefined();
    for (const rest of ["", "GET /"])
      expect(parseRequest(Buffer.concat([request, Buffer.from(rest)]))).toEqual({
        length: request.length,
        value,
      });
  });

  it.each([
    ["to bind", [5, 2, 0, 1, 1, 2, 3, 4, 0, 80], "unknownCommand"],
    ["for UDP", [5, 3, 0, 1, 1, 2, 3, 4, 0, 80], "unknownCommand"],
    ["with another address type", [5, 1, 0, 9, 1], "unknownAddress"],
    ["with an empty name", [5, 1, 0, 3, 0, 0, 80], "unknownAddress"],
    ["with a name that is none", [5, 1, 0, 3, 3, 97, 0, 98, 0, 80], "unknownAddress"],
    ["to port 0", [5, 1, 0, 1, 1, 2, 3, 4, 0, 0], "unknownAddress"],
  ])("%s gets a reply", (_what, bytes, value) => {
    expect(parseRequest(Buffer.from(bytes))?.value).toBe(value);
  });

  it("with a set reserved byte, or of another version, is none", () => {
    expect(() => parseRequest(Buffer.from([5, 1, 7]))).toThrow(Socks5Error);
    expect(() => parseRequest(Buffer.from([4]))).toThrow(Socks5Error);
  });

  it("never claims more bytes than there are, and does not change its mind when more come", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (noise) => {
        const bytes = Uint8Array.of(5, 1, 0, ...noise);
        for (let length = 0; length <= bytes.length; length += 1) {
          const early = parseRequest(bytes.subarray(0, length));
          if (early === undefined) continue;
          expect(early.length).toBeLessThanOrEqual(length);
          expect(parseRequest(bytes)?.value).toEqual(early.value);
          break;
        }
      }),
    );
  });
});

it("a reply reveals nothing about the machine", () => {
  expect([...formatReply("notAllowed")]).toEqual([5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);
});
