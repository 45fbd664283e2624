import { closeSync, openSync, readSync } from "node:fs";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { libc } from "../../native/libc.ts";
import { makeNonBlocking, openPipe, pseudoTerminalName } from "../../native/spawn.ts";
import { type InputWriter, TerminalWriter, writePipe } from "./input-writer.ts";

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
  const writer = new TerminalWriter(master, SIZE);
  const [first, second] = [pattern(200_000), pattern(3_000)];
  const done = Promise.all([written(writer, first), written(writer, second)]);
  // The kernel takes some kilobytes at once.
  expect(writer.queuedBytes).toBeGreaterThan(second.length);
  expect(writer.queuedBytes).toBeLessThan(first.length + second.length);
  const got = await readBytes(slave, first.length + second.length);
  expect(got.equals(Buffer.concat([first, second]))).toBe(true);
  await done;
  expect(writer.queuedBytes).toBe(0);
  // What is written after a wait is written at once.
  writer.write(Buffer.from("more"), () => {});
  expect(writer.queuedBytes).toBe(0);
  expect((await readBytes(slave, 4)).toString()).toBe("more");
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
  const writer = new TerminalWriter(master, SIZE);
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
  const writer = new TerminalWriter(master, SIZE);
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
  const writer = new TerminalWriter(master, SIZE);
  writer.write(Buffer.from(text), () => {});
  writer.end();
  writer.end();
  expect(writer.ended).toBe(true);
  expect((await readBytes(slave, expected.length)).toString()).toBe(expected);
  writer.close();
});

it("a write of nothing calls back, also behind others", async () => {
  const { master, slave } = openTerminal();
  const writer = new TerminalWriter(master, SIZE);
  await written(writer, Buffer.alloc(0));
  const done = Promise.all([written(writer, pattern(100_000)), written(writer, Buffer.alloc(0))]);
  await readBytes(slave, 100_000);
  await done;
  writer.close();
});

it("what is written to a closed terminal does not reach another file that has its descriptor", async () => {
  const { master } = openTerminal();
  const writer = new TerminalWriter(master, SIZE);
  writer.close();
  writer.close();
  const { readEnd, writeEnd } = openPipe();
  onTestFinished(() => closeSync(readEnd));
  const F_DUPFD = 0;
  const reused = [readEnd, writeEnd].includes(master) ? undefined : libc().fcntl(writeEnd, F_DUPFD, master);
  if (reused !== undefined) expect(reused).toBe(master);
  await written(writer, pattern(10));
  writer.end();
  if (reused !== undefined) closeSync(reused);
  closeSync(writeEnd);
  expect(readSync(readEnd, Buffer.alloc(10))).toBe(0);
});

it("a terminal that takes nothing is tried again ever less often, and at once when it has taken something", async () => {
  const { master, slave } = openTerminal();
  await fill({ master, slave });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const writer = new TerminalWriter(master, SIZE);
  writer.write(pattern(200_000), () => {});
  for (const waitMs of [1, 2, 4, 8, 16, 32, 50, 50]) {
    vi.advanceTimersByTime(waitMs - 1);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1);
  }
  expect(writer.queuedBytes).toBe(200_000);
  await drain(slave);
  vi.advanceTimersByTime(49);
  expect(writer.queuedBytes).toBe(200_000);
  vi.advanceTimersByTime(1);
  const left = writer.queuedBytes;
  expect(left).toBeLessThan(200_000);
  await drain(slave);
  vi.advanceTimersByTime(1);
  expect(writer.queuedBytes).toBeLessThan(left);
  writer.close();
  expect(vi.getTimerCount()).toBe(0);
});

const FIONREAD = 0x541b;
/** As much as the kernel holds for the reader of a terminal. */
const FULL_BYTES = 4095;

/** Writes until nothing more is taken, also after the kernel has moved what it has to the reader's side. */
async function fill({ master, slave }: { master: number; slave: number }): Promise<void> {
  const bytes = pattern(4096);
  const readable = Buffer.alloc(4);
  const deadline = performance.now() + DEADLINE_MS;
  for (let refused = 0; refused < 5; refused += 1) {
    expect(performance.now()).toBeLessThan(deadline);
    const isTaken = libc().write(master, bytes, bytes.length) > 0;
    libc().ioctl(slave, FIONREAD, readable);
    // On a busy machine, the kernel moves it some time later.
    if (isTaken || readable.readInt32LE() < FULL_BYTES) refused = -1;
    if (!isTaken) await delay(20);
  }
}

/** Reads everything, which is at least something. */
async function drain(slave: number): Promise<void> {
  for (let total = 0; ; ) {
    try {
      total += readSync(slave, Buffer.alloc(65_536));
      continue;
    } catch {
      if (total > 0) return;
    }
    await turn();
  }
}

it("a terminal is resized until it is closed", () => {
  const { master } = openTerminal();
  const writer = new TerminalWriter(master, SIZE);
  writer.resize({ rows: 30, columns: 90 });
  expect(writer.size).toEqual({ rows: 30, columns: 90 });
  writer.close();
  writer.resize({ rows: 40, columns: 100 });
  expect(writer.size).toEqual({ rows: 30, columns: 90 });
});

it("a pipe whose reader has left takes no more, and still calls back", async () => {
  const { readEnd, writeEnd } = openPipe();
  closeSync(readEnd);
  const writer = writePipe(writeEnd);
  await written(writer, pattern(10));
  await written(writer, pattern(10));
  writer.end();
  expect(writer.ended).toBe(true);
  writer.close();
});

it("the end of a pipe's input comes after what was written", async () => {
  const { readEnd, writeEnd } = openPipe();
  onTestFinished(() => closeSync(readEnd));
  makeNonBlocking(readEnd);
  const writer = writePipe(writeEnd);
  const bytes = pattern(200_000);
  const done = written(writer, bytes);
  expect([writer.ended, writer.queuedBytes > 0]).toEqual([false, true]);
  writer.end();
  writer.end();
  expect(writer.ended).toBe(true);
  expect((await readBytes(readEnd, bytes.length)).equals(bytes)).toBe(true);
  await done;
  await expect
    .poll(() => {
      try {
        return readSync(readEnd, Buffer.alloc(1));
      } catch {
        return undefined;
      }
    })
    .toBe(0);
});
