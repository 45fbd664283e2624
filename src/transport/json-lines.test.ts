import { PassThrough } from "node:stream";
import { describe, expect, it, vi } from "vitest";
import { JsonLinesTransport } from "./json-lines.ts";

function open(maxLineBytes?: number) {
  const input = new PassThrough();
  const output = new PassThrough();
  const messages: string[] = [];
  const closed = vi.fn();
  const transport = new JsonLinesTransport(input, output, "lines", maxLineBytes);
  transport.open({ message: (text) => messages.push(text), drain: () => {}, close: closed });
  return { input, output, messages, closed, transport };
}

describe("JsonLinesTransport", () => {
  it("delivers lines however they are cut into pieces", async () => {
    const { input, messages } = open();
    for (const piece of ['{"a"', ":1}\n", '{"b":2}\n{"c"', ":3}\n"]) input.write(piece);
    await vi.waitFor(() => expect(messages).toEqual(['{"a":1}', '{"b":2}', '{"c":3}']));
  });

  it("keeps a character together that is cut in the middle", async () => {
    const { input, messages } = open();
    const bytes = Buffer.from('"é"\n');
    input.write(bytes.subarray(0, 2));
    input.write(bytes.subarray(2));
    await vi.waitFor(() => expect(messages).toEqual(['"é"']));
  });

  it("ignores blank lines and takes CRLF", async () => {
    const { input, messages } = open();
    input.write("\n  \r\n{}\r\n");
    await vi.waitFor(() => expect(messages.map((text) => JSON.parse(text) as unknown)).toEqual([{}]));
  });

  it("takes a line as long as the limit and ends at a longer one", async () => {
    const { input, messages, closed } = open(4);
    input.write("1234\n");
    await vi.waitFor(() => expect(messages).toEqual(["1234"]));
    input.write("12345\n");
    await vi.waitFor(() => expect(closed).toHaveBeenCalledWith("a line is longer than 4 bytes"));
  });

  it("delivers an unterminated last line, then ends", async () => {
    const { input, messages, closed } = open();
    input.end("{}");
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
    expect(messages).toEqual(["{}"]);
  });

  it("holds lines back while it is paused, in order", async () => {
    const { input, messages, transport } = open();
    input.write("1\n");
    await vi.waitFor(() => expect(messages).toEqual(["1"]));
    transport.pause();
    input.write("2\n3\n");
    await new Promise((resolve) => setImmediate(resolve));
    expect(messages).toEqual(["1"]);
    transport.resume();
    await vi.waitFor(() => expect(messages).toEqual(["1", "2", "3"]));
  });

  it("writes one message a line, and tells when each is gone", async () => {
    const { output, transport } = open();
    const flushed = vi.fn();
    transport.send('{"a":1}');
    transport.send(Buffer.from('{"b":2}'), flushed);
    await vi.waitFor(() => expect(flushed).toHaveBeenCalledTimes(1));
    expect(String(output.read())).toBe('{"a":1}\n{"b":2}\n');
    expect(transport.queuedBytes).toBe(0);
  });

  it("gives a message back that it cannot send any more", () => {
    const { transport } = open();
    const flushed = vi.fn();
    transport.destroy();
    transport.send("x", flushed);
    expect(flushed).toHaveBeenCalledTimes(1);
  });
});
