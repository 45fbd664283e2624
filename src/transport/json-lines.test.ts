import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { JsonLinesTransport } from "./json-lines.ts";

function open(maxLineBytes?: number, onMessage = () => {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const messages: string[] = [];
  const closed = vi.fn();
  const transport = new JsonLinesTransport(input, output, "lines", maxLineBytes);
  const message = (text: string): void => {
    messages.push(text);
    onMessage();
  };
  transport.open({ message, drain: () => {}, close: closed });
  return { input, output, messages, closed, transport };
}

describe("JsonLinesTransport", () => {
  it("delivers lines however they are cut into pieces", async () => {
    const { input, messages } = open();
    for (const piece of ['{"a"', ":1}\n", '{"b":2}\n{"c"', ":3}\n"]) input.write(piece);
    await expect.poll(() => messages).toEqual(['{"a":1}', '{"b":2}', '{"c":3}']);
  });

  it("keeps a character together that is cut in the middle", async () => {
    const { input, messages } = open();
    const bytes = Buffer.from('"é"\n');
    input.write(bytes.subarray(0, 2));
    input.write(bytes.subarray(2));
    await expect.poll(() => messages).toEqual(['"é"']);
  });

  it("ignores blank lines and takes CRLF", async () => {
    const { input, messages } = open();
    input.write("\n  \r\n{}\r\n");
    await expect.poll(() => messages.map((text) => JSON.parse(text) as unknown)).toEqual([{}]);
  });

  it("takes a line as long as the limit and ends at a longer one", async () => {
    const { input, messages, closed } = open(4);
    input.write("1234\n");
    await expect.poll(() => messages).toEqual(["1234"]);
    input.write("12345\n");
    await expect.poll(() => closed).toHaveBeenCalledWith("a line is longer than 4 bytes");
  });

  it("delivers an unterminated last line, then ends", async () => {
    const { input, messages, closed } = open();
    input.end("{}");
    await expect.poll(() => closed).toHaveBeenCalledTimes(1);
    expect(messages).toEqual(["{}"]);
  });

  it("holds lines back while it is paused, in order", async () => {
    const { input, messages, transport } = open();
    input.write("1\n");
    await expect.poll(() => messages).toEqual(["1"]);
    transport.pause();
    input.write("2\n3\n");
    await new Promise((resolve) => setImmediate(resolve));
    expect(messages).toEqual(["1"]);
    transport.resume();
    await expect.poll(() => messages).toEqual(["1", "2", "3"]);
  });

  it("loses no line to a pause, wherever it comes and however often", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }), { maxLength: 60, size: "max" }),
        fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 60, size: "max" }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 20, size: "max" }),
        fc.boolean(),
        async (texts, cuts, pauses, isTerminated) => {
          const lines = texts.map((text) => JSON.stringify(text));
          let count = 0;
          const hold = (): void => {
            if (pauses[count % pauses.length]!) transport.pause();
            count += 1;
          };
          const { input, messages, closed, transport } = open(undefined, hold);
          hold();
          const bytes = Buffer.from(lines.join("\n") + (isTerminated ? "\n" : ""));
          for (let at = 0, piece = 0; at < bytes.length; piece += 1) {
            const end = at + 1 + cuts[piece % cuts.length]!;
            input.write(bytes.subarray(at, end));
            at = end;
          }
          input.end();
          while (closed.mock.calls.length === 0) {
            await new Promise((resolve) => setImmediate(resolve));
            transport.resume();
          }
          expect(messages).toEqual(lines);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("delivers nothing after it was destroyed, though lines were read", async () => {
    const { input, messages, transport } = open(undefined, () => transport.pause());
    input.write("1\n2\n3\n");
    await expect.poll(() => messages).toEqual(["1"]);
    transport.destroy();
    transport.resume();
    expect(messages).toEqual(["1"]);
  });

  it("takes a line that is not UTF-8 for a message that is no JSON, and continues", async () => {
    const { input, messages, closed } = open();
    input.write(Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}\n{}\n')]));
    await expect.poll(() => messages).toHaveLength(2);
    expect(() => JSON.parse(messages[0]!) as unknown).toThrow(SyntaxError);
    expect(messages[1]).toBe("{}");
    expect(closed).not.toHaveBeenCalled();
  });

  it("takes a line that comes byte by byte", async () => {
    const { input, messages } = open();
    const line = JSON.stringify("é".repeat(5000));
    for (const byte of Buffer.from(`${line}\n`)) input.write(Buffer.of(byte));
    await expect.poll(() => messages).toEqual([line]);
  });

  it("sends what it holds back before it is destroyed", () => {
    const { output, transport } = open();
    const write = vi.spyOn(output, "_write");
    transport.send("1");
    expect(write).not.toHaveBeenCalled();
    transport.destroy();
    expect(String(write.mock.calls[0]![0])).toBe("1\n");
  });

  it("is cut when its peer does not read to the end", async () => {
    vi.useFakeTimers();
    try {
      const output = new PassThrough({ highWaterMark: 1 });
      const closed = vi.fn();
      const transport = new JsonLinesTransport(new PassThrough(), output, "lines");
      transport.open({ message: () => {}, drain: () => {}, close: closed });
      transport.send("1");
      transport.send("2");
      transport.close();
      await vi.advanceTimersByTimeAsync(999);
      expect(closed).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(closed).toHaveBeenCalledTimes(1);
      expect(output.destroyed).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  it("writes one message a line, and reports when each is gone", async () => {
    const { output, transport } = open();
    const flushed = vi.fn();
    transport.send('{"a":1}');
    transport.send(Buffer.from('{"b":2}'), flushed);
    await expect.poll(() => flushed).toHaveBeenCalledTimes(1);
    // Node 26 reads one chunk at a time, earlier versions all of them.
    let written = "";
    for (let chunk = output.read(); chunk !== null; chunk = output.read()) written += String(chunk);
    expect(written).toBe('{"a":1}\n{"b":2}\n');
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
