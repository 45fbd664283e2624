import { closeSync, constants, openSync, writeSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { libc } from "../../../native/libc.ts";
import { lookForEndsOfPipes, readPipe, readTerminal } from "./output-source.ts";
import { SharedDescriptor } from "../../../native/shared-descriptor.ts";
import { duplicate, makeNonBlocking, openPipe, pseudoTerminalName } from "../../../native/spawn.ts";

const KIBIBYTE = 1024;

test.each([64, 1024])(
  "a source finishes with what a pipe of %d KiB holds, however fast it is filled",
  (kib) => {
    const { readEnd, writeEnd } = openPipe();
    const F_SETPIPE_SZ = 1031;
    libc().fcntl(writeEnd, F_SETPIPE_SZ, kib * KIBIBYTE);
    let total = 0;
    let ends = 0;
    const source = readPipe(readEnd, {
      data: (bytes) => {
        total += bytes.length;
        if (total < 8192 * KIBIBYTE) writeSync(writeEnd, bytes);
      },
      end: () => {
        ends += 1;
      },
    });
    writeSync(writeEnd, Buffer.alloc(32 * 1024));
    source.finish();
    source.finish();
    closeSync(writeEnd);
    expect({ ends, total }).toEqual({ ends: 1, total: kib * KIBIBYTE });
  },
);

/** A pipe whose process has ended while another process still holds it open. */
function heldPipe(): { received: string[]; ended: Promise<void>; holder: number } {
  const { readEnd, writeEnd } = openPipe();
  makeNonBlocking(readEnd);
  const holder = duplicate(writeEnd);
  const received: string[] = [];
  const ended = new Promise<void>((resolve) => {
    const source = readPipe(readEnd, {
      data: (bytes) => received.push(Buffer.from(bytes).toString()),
      end: () => {
        received.push("end");
        resolve();
      },
    });
    writeSync(writeEnd, "last words");
    closeSync(writeEnd);
    source.hurry();
  });
  return { received, ended, holder };
}

test("the end of a pipe that others held for a moment is seen at the next look", () => {
  const { received, holder } = heldPipe();
  lookForEndsOfPipes();
  expect(received).toEqual(["last words"]);
  writeSync(holder, "more");
  closeSync(holder);
  lookForEndsOfPipes();
  expect(received).toEqual(["last words", "more", "end"]);
});

test("a pipe that is held for longer is watched, though nobody looks again", async () => {
  const { received, ended, holder } = heldPipe();
  setTimeout(() => closeSync(holder), 50);
  await ended;
  expect(received).toEqual(["last words", "end"]);
});

/** A watched pipe that rests, because its writer has written often within a moment. Its time stands still. */
async function restingPipe() {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { readEnd, writeEnd } = openPipe();
  onTestFinished(() => closeSync(writeEnd));
  makeNonBlocking(readEnd);
  const received: number[] = [];
  let arrived = (): void => {};
  const source = readPipe(readEnd, {
    data: (bytes) => {
      received.push(bytes.length);
      arrived();
    },
    end: () => {},
  });
  onTestFinished(() => source.finish());
  const write = (kibibytes: number): void => void writeSync(writeEnd, Buffer.alloc(kibibytes * KIBIBYTE));
  source.resume();
  // The look at fresh pipes is over.
  vi.advanceTimersByTime(50);
  for (let reads = 0; reads < 4; reads += 1) {
    const next = new Promise<void>((resolve) => (arrived = resolve));
    write(8);
    await next;
  }
  expect(received.splice(0)).toEqual([8, 8, 8, 8].map((length) => length * KIBIBYTE));
  return { source, write, received };
}

/** Long enough for the event loop to read what is there. */
async function takeTurns(): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

test("a pipe that is read too often rests for a moment, and is read by more at a time", async () => {
  const { write, received } = await restingPipe();
  write(10);
  await takeTurns();
  write(20);
  await takeTurns();
  expect(received).toEqual([]);
  vi.advanceTimersByTime(1);
  await expect.poll(() => received).toEqual([30 * KIBIBYTE]);
});

test("a pipe that is paused while it rests stays paused", async () => {
  const { source, write, received } = await restingPipe();
  source.pause();
  write(10);
  vi.advanceTimersByTime(1);
  await takeTurns();
  expect(received).toEqual([]);
  source.resume();
  await expect.poll(() => received).toEqual([10 * KIBIBYTE]);
});

test("a pipe that is resumed while it rests stays at rest", async () => {
  const { source, write, received } = await restingPipe();
  source.pause();
  source.resume();
  write(10);
  await takeTurns();
  expect(received).toEqual([]);
  vi.advanceTimersByTime(1);
  await expect.poll(() => received).toEqual([10 * KIBIBYTE]);
});

test("a pipe that is finished while it rests gives what it holds, and is over", async () => {
  const { source, write, received } = await restingPipe();
  write(10);
  source.finish();
  expect(received).toEqual([10 * KIBIBYTE]);
  source.pause();
  source.resume();
  expect(vi.getTimerCount()).toBe(0);
});

test("a pipe that is watched ends once, although its process has ended", async () => {
  const { readEnd, writeEnd } = openPipe();
  makeNonBlocking(readEnd);
  const received: string[] = [];
  const source = readPipe(readEnd, {
    data: (bytes) => received.push(Buffer.from(bytes).toString()),
    end: () => received.push("end"),
  });
  source.resume();
  writeSync(writeEnd, "last words");
  closeSync(writeEnd);
  source.hurry();
  await expect.poll(() => received).toEqual(["last words", "end"]);
  await takeTurns();
  source.hurry();
  source.finish();
  source.pause();
  source.resume();
  expect(received).toEqual(["last words", "end"]);
});

const { O_RDWR, O_NOCTTY } = constants;

/** Both ends of a terminal: the server's, and the name that programs open. */
function openTerminal(): { master: number; rest: SharedDescriptor; write: (text: string) => void } {
  const master = libc().openPseudoTerminal(O_RDWR | O_NOCTTY);
  libc().grantPseudoTerminal(master);
  libc().unlockPseudoTerminal(master);
  makeNonBlocking(master);
  const name = pseudoTerminalName(master);
  const write = (text: string): void => {
    const program = openSync(name, O_RDWR | O_NOCTTY);
    writeSync(program, text);
    closeSync(program);
  };
  return { master, rest: new SharedDescriptor(duplicate(master)), write };
}

test("what a terminal still holds when its stream ends is read before the end", async () => {
  const { master, rest, write } = openTerminal();
  const received: string[] = [];
  write("first");
  await new Promise<void>((resolve) => {
    readTerminal(master, rest, {
      data: (bytes) => {
        received.push(Buffer.from(bytes).toString());
        // The event loop has seen that the last program left, and takes this for the end although another one has come.
        if (received.length === 1) write("second");
      },
      end: () => {
        received.push("end");
        resolve();
      },
    });
  });
  expect(received).toEqual(["first", "second", "end"]);
});

test("a terminal that is finished gives what it holds, although its reader was paused", () => {
  const { master, rest, write } = openTerminal();
  const received: string[] = [];
  const source = readTerminal(master, rest, {
    data: (bytes) => received.push(Buffer.from(bytes).toString()),
    end: () => received.push("end"),
  });
  source.pause();
  write("held back");
  source.finish();
  source.finish();
  expect(received).toEqual(["held back", "end"]);
});
