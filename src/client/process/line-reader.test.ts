import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { type LineOptions, readLines } from "./line-reader.ts";
import type { OutputChunk } from "../routes/process-events.ts";

async function* chunks(pieces: readonly (Uint8Array | OutputChunk)[]): AsyncGenerator<OutputChunk> {
  for (const piece of pieces)
    yield piece instanceof Uint8Array ? { stream: "stdout", bytes: piece, seq: 1 } : piece;
}

async function linesOf(
  pieces: readonly (Uint8Array | OutputChunk)[],
  options: LineOptions = {},
): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(chunks(pieces), options)) lines.push(line);
  return lines;
}

/** Output that begins with a text, if any, and then waits until its reader leaves. */
function waitingOutput(text?: string) {
  let asked = (): void => {};
  let left = (): void => {};
  const leaving = new Promise<void>((resolve) => (left = resolve));
  let pending = text;
  return {
    returned: 0,
    /** Resolves when all of the text was read and more is asked for. */
    asked: new Promise<void>((resolve) => (asked = resolve)),
    async next(): Promise<IteratorResult<OutputChunk>> {
      const bytes = utf8.encode(pending);
      pending = undefined;
      if (bytes.length > 0) return { done: false, value: { stream: "stdout" as const, bytes, seq: 1 } };
      asked();
      await leaving;
      return { done: true, value: undefined };
    },
    async return(): Promise<IteratorResult<OutputChunk>> {
      this.returned += 1;
      left();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const utf8 = new TextEncoder();

describe("readLines", () => {
  it.each([
    ["", []],
    ["\n", [""]],
    ["a", ["a"]],
    ["a\n", ["a"]],
    ["a\r\nb\r\n\r\nc", ["a", "b", "", "c"]],
    ["a\rb\n", ["a\rb"]],
    ["\r\n", [""]],
    ["\ufeffa\n", ["\ufeffa"]],
  ])("cuts %j into %j", async (text, lines) => {
    expect(await linesOf([utf8.encode(text)])).toEqual(lines);
  });

  it("gives the same lines wherever chunks are cut, also within a character", async () => {
    const text = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", "\n", "\r\n", "\r"), maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(60), { maxLength: 8 }), async (whole, cuts) => {
        const bytes = utf8.encode(whole);
        const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length].sort(
          (a, b) => a - b,
        );
        const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
        const wanted = whole.split("\n").map((line) => line.replace(/\r$/, ""));
        if (whole.endsWith("\n") || whole === "") wanted.pop();
        expect(await linesOf(pieces)).toEqual(wanted);
      }),
    );
  });

  it("gives a line that is too long in pieces, cut between characters, and loses nothing", async () => {
    const long = "€😀x".repeat(1000);
    for (const size of [1, 7, 4096, 100_000]) {
      const bytes = utf8.encode(`${long}\nshort\n${long}`);
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      const lines = await linesOf(pieces, { maxLineBytes: 100 });
      expect(lines.join("")).toBe(`${long}short${long}`);
      for (const line of lines) expect(utf8.encode(line).length).toBeLessThanOrEqual(100);
      expect(lines).toContain("short");
    }
  });

  it.each(["abcd\r\nx\r\n", "abcdefgh\r\nx"])(
    "does not count the end of a line as a part of it: %j",
    async (text) => {
      const bytes = utf8.encode(text);
      const wanted = await linesOf([utf8.encode(text.replaceAll("\r", ""))], { maxLineBytes: 4 });
      expect(await linesOf([bytes], { maxLineBytes: 4 })).toEqual(wanted);
      expect(
        await linesOf(
          [...bytes].map((byte) => Uint8Array.of(byte)),
          { maxLineBytes: 4 },
        ),
      ).toEqual(wanted);
    },
  );

  it("gives the output up when the reader leaves, before the first line and while it waits for one", async () => {
    const output = waitingOutput();
    const unread = readLines(output, {});
    await unread.return?.();
    expect(output.returned).toBe(1);
    const another = waitingOutput("unfinished");
    const lines = readLines(another, {});
    const waiting = lines.next();
    await another.asked;
    expect(await lines.return?.()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(another.returned).toBeGreaterThan(0);
  });

  it("keeps the lines of two streams apart, and shows bytes that are no UTF-8", async () => {
    const piece = (stream: "stdout" | "stderr", text: string): OutputChunk => ({
      stream,
      bytes: utf8.encode(text),
      seq: 1,
    });
    expect(await linesOf([piece("stdout", "a"), piece("stderr", "x\ny"), piece("stdout", "b\n")])).toEqual([
      "x",
      "ab",
      "y",
    ]);
    expect(await linesOf([Uint8Array.of(0xff, 0x61, 0x0a)])).toEqual(["\ufffda"]);
  });

  it.each([0, 3, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    "refuses a bound of %d",
    async (maxLineBytes) => {
      await expect(linesOf([], { maxLineBytes })).rejects.toThrow(UsageError);
    },
  );
});
