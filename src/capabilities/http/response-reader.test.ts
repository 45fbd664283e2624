import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Header } from "./http-request.ts";
import { ResponseReader } from "./response-reader.ts";

interface Reading {
  status?: number;
  headers?: readonly Header[];
  body: string;
  ended: boolean;
  reusable: boolean;
  failure?: string;
}

/** Reads bytes that come in these pieces, and then the end of the connection if `closed`. */
function read(pieces: readonly Buffer[], { method = "GET", closed = false } = {}): Reading {
  const reading: Reading = { body: "", ended: false, reusable: false };
  const reader = new ResponseReader(method, {
    head: ({ status, headers }) => Object.assign(reading, { status, headers }),
    data: (bytes) => {
      reading.body += bytes.toString("latin1");
    },
    end: () => {
      reading.ended = true;
    },
  });
  try {
    for (const piece of pieces) reader.read(piece);
    if (closed) reader.finish();
  } catch (error) {
    reading.failure = (error as Error).message;
  }
  return { ...reading, reusable: reader.reusable };
}

const RESPONSES: Readonly<Record<string, string>> = {
  length: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  nothing: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
  chunked:
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: x\r\n\r\n",
  "until the end": "HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello",
  "after others":
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nX: y\r\n\r\nHTTP/1.1 201 OK\r\nContent-Length: 2\r\n\r\nok",
  newlines: "\r\nHTTP/1.0 404 No\nConnection: keep-alive\nContent-Length: 2\n\nno",
  "more than asked for": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
  garbage: "SSH-2.0-OpenSSH_9.0\r\n\r\n",
  "bad chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\nzz\r\n",
};

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

describe("a response", () => {
  it.each(Object.entries(RESPONSES))("of the kind '%s' is read alike however it is cut", (_, text) => {
    const bytes = Buffer.from(text, "latin1");
    const whole = read([bytes], { closed: true });
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { maxLength: 12 }), (places) => {
        expect(read(cut(bytes, places), { closed: true })).toEqual(whole);
      }),
    );
    expect(
      read(
        [...bytes].map((byte) => Buffer.of(byte)),
        { closed: true },
      ),
    ).toEqual(whole);
  });

  it.each([
    ["length", { status: 200, body: "hello", ended: true, reusable: true }],
    ["chunked", { status: 200, body: "hello", ended: true, reusable: true }],
    ["until the end", { status: 200, body: "hello", ended: false, reusable: false }],
    ["after others", { status: 201, body: "ok", ended: true, reusable: true }],
    ["newlines", { status: 404, body: "no", ended: true, reusable: true }],
    ["more than asked for", { status: 200, body: "ok", ended: true, reusable: false }],
  ])("of the kind '%s' is what it says", (kind, expected) => {
    expect(read([Buffer.from(RESPONSES[kind]!, "latin1")])).toMatchObject(expected);
  });

  it("that is cut off is a failure", () => {
    const bytes = Buffer.from(RESPONSES["chunked"]!);
    for (let end = 0; end < bytes.length; end += 1)
      expect(read([bytes.subarray(0, end)], { closed: true }).failure).toBe("the connection ended too early");
  });

  it("leaves its connection alone when it says so", () => {
    const close = "HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok";
    const old = "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for (const text of [close, old])
      expect(read([Buffer.from(text)])).toMatchObject({ ended: true, reusable: false });
  });

  it("to HEAD has no body", () => {
    expect(
      read([Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")], { method: "HEAD" }),
    ).toMatchObject({
      ended: true,
      reusable: true,
      body: "",
    });
  });

  it("with a head that does not end is given up", () => {
    const line = Buffer.from(`x: ${"y".repeat(1000)}\r\n`);
    const pieces = [Buffer.from("HTTP/1.1 200 OK\r\n"), ...Array.from({ length: 1100 }, () => line)];
    expect(read(pieces).failure).toBe("the head is longer than 1048576 bytes");
  });

  it("with a chunk size or a trailer that does not end is given up", () => {
    const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    expect(read([Buffer.from(`${head}2;${"x".repeat(20_000)}`)]).failure).toBe(
      "a line of the chunked body is too long",
    );
    const trailers = `a: ${"b".repeat(1000)}\r\n`.repeat(1100);
    expect(read([Buffer.from(`${head}0\r\n${trailers}`)]).failure).toBe("the chunked body is malformed");
  });
});
