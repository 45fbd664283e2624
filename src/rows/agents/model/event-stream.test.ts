import { describe, expect, it } from "vitest";
import { readEvents } from "./event-stream.ts";

const SIZES = { maxBytes: 10_000, maxEventCharacters: 1_000 };

/** The values of a stream that arrives in these pieces. */
async function valuesOf(pieces: Iterable<string | Uint8Array>, sizes = SIZES): Promise<unknown[]> {
  async function* chunks() {
    for (const piece of pieces) yield typeof piece === "string" ? Buffer.from(piece) : piece;
  }
  const values: unknown[] = [];
  for await (const value of readEvents(chunks(), sizes)) values.push(value);
  return values;
}

const STREAM =
  ': hello\nevent: a\nid: 1\ndata: {"text":"日本 🐈"}\n\nretry: 10\ndata:{"a":\ndata: 1}\n\ndata: [DONE]\n\n';
const VALUES = [{ text: "日本 🐈" }, { a: 1 }];

describe.each([
  ["LF", "\n"],
  ["CRLF", "\r\n"],
  ["CR", "\r"],
])("lines that end with %s", (_name, end) => {
  const bytes = Buffer.from(STREAM.replaceAll("\n", end));

  it("are read, wherever the stream is cut into two", async () => {
    for (let at = 0; at <= bytes.length; at += 1)
      expect(await valuesOf([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(VALUES);
  });

  it("are read byte by byte", async () => {
    expect(await valuesOf(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)))).toEqual(VALUES);
  });

  it("end the last event too, without anything after it", async () => {
    expect(await valuesOf([`data: 1${end}${end}`])).toEqual([1]);
  });
});

it("a mark of the byte order is skipped", async () => {
  expect(await valuesOf(["\ufeffdata: 1\n\n"])).toEqual([1]);
});

it("nothing is read after the end that the endpoint announces", async () => {
  expect(await valuesOf(["data: 1\n\ndata: [DONE]\n\ndata: {{{\n\n"])).toEqual([1]);
});

it("an event that is cut off within a line is left out", async () => {
  expect(await valuesOf(['data: 1\n\ndata: {"a"'])).toEqual([1]);
  expect(await valuesOf(["<html>\n<body>Welcome"])).toEqual([]);
});

it.each(["{{{", "", "[".repeat(500), '{"a":1,"a":2}'])(
  "data that is not JSON is an error: %j",
  async (data) => {
    await expect(valuesOf([`data: ${data}\n\n`])).rejects.toThrow("the endpoint's answer is not JSON");
  },
);

describe("an answer that is too long ends with an error:", () => {
  const event = "an event of the endpoint's answer is longer than 1000 characters";
  it.each<[string, string, string]>([
    ["a line", "x".repeat(600), event],
    ["an event of many lines", `data: ${"x".repeat(60)}\n`, event],
    ["many events", `data: "${"x".repeat(500)}"\n\n`, "the endpoint's answer is longer than 10000 bytes"],
    ["comments", `: ${"x".repeat(500)}\n\n`, "the endpoint's answer is longer than 10000 bytes"],
  ])("%s", async (_name, piece, error) => {
    let taken = 0;
    function* endless() {
      for (; ; taken += 1) yield piece;
    }
    await expect(valuesOf(endless())).rejects.toThrow(error);
    expect(taken * piece.length).toBeLessThan(SIZES.maxBytes + piece.length);
  });
});

it("megabytes that arrive in small pieces take no longer than they are long", async () => {
  const sizes = { maxBytes: 8 * 1024 * 1024, maxEventCharacters: 2 * 1024 * 1024 };
  function* pieces() {
    yield 'data: "';
    for (let sent = 0; sent < 1_000_000; sent += 10) yield "0123456789";
    yield '"\n\n';
  }
  const startedAt = performance.now();
  const [value] = await valuesOf(pieces(), sizes);
  expect(value).toHaveLength(1_000_000);
  // Searching from the start with every piece would read 50 GB.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});
