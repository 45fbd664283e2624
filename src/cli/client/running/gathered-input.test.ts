import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import { GatheredInput } from "./gathered-input.ts";

const KIB = 1024;

async function all(input: AsyncIterable<Uint8Array>): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for await (const piece of input) pieces.push(Buffer.from(piece));
  return pieces;
}

test("Every byte arrives once, in order", async () => {
  const chunks = Array.from({ length: 100 }, (_, index) => Buffer.alloc(10 * KIB, index));
  const pieces = await all(new GatheredInput(Readable.from(chunks, { objectMode: false })));
  expect(Buffer.concat(pieces).equals(Buffer.concat(chunks))).toBe(true);
});

test("What arrives between two reads becomes one piece", async () => {
  const source = new PassThrough();
  const input = new GatheredInput(source);
  source.write("one");
  expect(String((await input.next()).value)).toBe("one");
  source.write("two");
  source.write("three");
  await new Promise((resolve) => setImmediate(resolve));
  expect(String((await input.next()).value)).toBe("twothree");
});

test("A source without a reader is paused", async () => {
  const source = new PassThrough({ highWaterMark: 16 * KIB });
  const input = new GatheredInput(source);
  let written = 0;
  for (; written < 10_000 * KIB && source.write(Buffer.alloc(16 * KIB)); written += 16 * KIB)
    await new Promise((resolve) => setImmediate(resolve));
  expect(source.isPaused()).toBe(true);
  expect(written).toBeLessThan(400 * KIB);
  expect((await input.next()).done).toBe(false);
  expect(source.isPaused()).toBe(false);
});

test("Whoever waits learns of an error, and of an end", async () => {
  const broken = new PassThrough();
  const failed = new GatheredInput(broken).next();
  broken.destroy(new Error("gone"));
  await expect(failed).rejects.toThrow("gone");
  const input = new GatheredInput(new PassThrough());
  const ended = input.next();
  input.destroy();
  expect((await ended).done).toBe(true);
});
