import { closeSync, openSync, readSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { libc } from "../../native/libc.ts";
import { makeNonBlocking, openPipe, pseudoTerminalName } from "../../native/spawn.ts";
import { type InputWriter, writePipe, writeTerminal } from "./input-writer.ts";

const SIZE = { rows: 24, columns: 80 };
const DEADLINE_MS = 20_000;
const O_RDWR = 2;
const O_NOCTTY = 0o400;

/** A terminal whose writer is non-blocking, as a process gets it, without line editing or echo. */
function openTerminal(): { master: number; slave: number } {
  const master = libc().openPseudoTerminal(O_RDWR | O_NOCTTY);
  libc().grantPseudoTerminal(master);
  libc().unlockPseudoTerminal(master);
  const slave = openSync(pseudoTerminalName(master), O_RDWR | O_NOCTTY);
  onTestFinished(() => closeSync(slave));
  makeRaw(slave);
  makeNonBlocking(slave);
  makeNonBlocking(master);
  return { master, slave };
}

const TCGETS = 0x5401;
const TCSETS = 0x5402;

/** All flags off; the control characters stay. */
function makeRaw(fd: number): void {
  const settings = Buffer.alloc(64);
  libc().ioctl(fd, TCGETS, settings);
  new Uint32Array(settings.buffer, settings.byteOffset, 4).set([0, 0, 0x30, 0]);
  libc().ioctl(fd, TCSETS, settings);
}

/** What arrives at the other end, until there are so many bytes. */
async function readBytes(fd: number, count: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  const deadline = performance.now() + DEADLINE_MS;
  for (let left = count; left > 0; ) {
    const part = Buffer.alloc(4096);
    try {
      const length = readSync(fd, part);
      parts.push(part.subarray(0, length));
      left -= length;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || performance.now() > deadline) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return Buffer.concat(parts);
}

function written(writer: InputWriter, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => writer.write(bytes, resolve));
}

/** Each byte differs from its neighbours, and no two places look alike for long. */
const pattern = (length: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) & 0xff));

it("a terminal gets all of a write that its buffer takes only a part of, in order", async () => {
  const { master, slave } = openTerminal();
  const writer = writeTerminal(master, SIZE);
  const [first, second] = [pattern(200_000), pattern(3_000)];
  const done = Promise.all([written(writer, first), written(writer, second)]);
  // The kernel takes some kilobytes at once.
  expect(writer.queuedBytes).toBeGreaterThan(second.length);
  expect(writer.queuedBytes).toBeLessThan(first.length + second.length);
  const got = await readBytes(slave, first.length + second.length);
  expect(got.equals(Buffer.concat([first, second]))).toBe(true);
  await done;
  expect(writer.queuedBytes).toBe(0);
  writer.close();
});

it("a pipe gets all of a write that it takes only a part of", async () => {
  const { readEnd, writeEnd } = openPipe();
  onTestFinished(() => closeSync(readEnd));
  makeNonBlocking(readEnd);
  const writer = writePipe(writeEnd);
  const bytes = pattern(500_000);
  const done = written(writer, bytes);
  expect((await readBytes(readEnd, bytes.length)).equals(bytes)).toBe(true);
  await done;
  writer.close();
});

it("the kernel has the bytes when a write calls back, not earlier", async () => {
  const { master, slave } = openTerminal();
  const writer = writeTerminal(master, SIZE);
  let isDone = false;
  writer.write(pattern(100_000), () => {
    isDone = true;
  });
  expect(isDone).toBe(false);
  await readBytes(slave, 100_000);
  await expect.poll(() => isDone).toBe(true);
  writer.close();
});

it("closing calls back for what was not written, and nothing is queued afterwards", async () => {
  const { master } = openTerminal();
  const writer = writeTerminal(master, SIZE);
  const done = Promise.all([written(writer, pattern(100_000)), written(writer, pattern(10))]);
  writer.close();
  await done;
  expect(writer.queuedBytes).toBe(0);
  await written(writer, pattern(10));
  expect(writer.queuedBytes).toBe(0);
});

it.each([
  ["in the middle of a line, twice", "line", "line\x04\x04"],
  ["after a line, once", "line\n", "line\n\x04"],
  ["without any input, once", "", "\x04"],
])("the end of a terminal's input is its EOF character: %s", async (_, text, expected) => {
  const { master, slave } = openTerminal();
  const writer = writeTerminal(master, SIZE);
  writer.write(Buffer.from(text), () => {});
  writer.end();
  writer.end();
  expect(writer.ended).toBe(true);
  expect((await readBytes(slave, expected.length)).toString()).toBe(expected);
  writer.close();
});
