import { closeSync, constants, openSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { libc } from "../../../native/libc.ts";
import { lookForEndsOfPipes, readPipe, readTerminal } from "./output-source.ts";
import { SharedDescriptor } from "../../../native/shared-descriptor.ts";
import { duplicate, makeNonBlocking, openPipe, pseudoTerminalName } from "../../../native/spawn.ts";

const MEBIBYTE = 1024 * 1024;

test("a source finishes although its pipe is filled as fast as it is read", () => {
  const { readEnd, writeEnd } = openPipe();
  let total = 0;
  let ends = 0;
  const source = readPipe(readEnd, {
    data: (bytes) => {
      total += bytes.length;
      if (total < 8 * MEBIBYTE) writeSync(writeEnd, bytes);
    },
    end: () => {
      ends += 1;
    },
  });
  writeSync(writeEnd, Buffer.alloc(32 * 1024));
  source.finish();
  source.finish();
  closeSync(writeEnd);
  expect({ ends, total }).toEqual({ ends: 1, total: MEBIBYTE });
});

/** A pipe whose process has ended while another process still holds it open. */
function heldPipe(): { told: string[]; ended: Promise<void>; holder: number } {
  const { readEnd, writeEnd } = openPipe();
  makeNonBlocking(readEnd);
  const holder = duplicate(writeEnd);
  const told: string[] = [];
  const ended = new Promise<void>((resolve) => {
    const source = readPipe(readEnd, {
      data: (bytes) => told.push(Buffer.from(bytes).toString()),
      end: () => {
        told.push("end");
        resolve();
      },
    });
    writeSync(writeEnd, "last words");
    closeSync(writeEnd);
    source.hurry();
  });
  return { told, ended, holder };
}

test("the end of a pipe that others held for a moment is seen at the next look", () => {
  const { told, holder } = heldPipe();
  lookForEndsOfPipes();
  expect(told).toEqual(["last words"]);
  writeSync(holder, "more");
  closeSync(holder);
  lookForEndsOfPipes();
  expect(told).toEqual(["last words", "more", "end"]);
});

test("a pipe that is held for longer is watched, though nobody looks again", async () => {
  const { told, ended, holder } = heldPipe();
  setTimeout(() => closeSync(holder), 50);
  await ended;
  expect(told).toEqual(["last words", "end"]);
});

const { O_RDWR, O_NOCTTY } = constants;

/** Both ends of a terminal: the server's, and the name by which programs open theirs. */
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
  const told: string[] = [];
  write("first");
  await new Promise<void>((resolve) => {
    readTerminal(master, rest, {
      data: (bytes) => {
        told.push(Buffer.from(bytes).toString());
        // The event loop has seen that the last program left, and takes this for the end although another one has come.
        if (told.length === 1) write("second");
      },
      end: () => {
        told.push("end");
        resolve();
      },
    });
  });
  expect(told).toEqual(["first", "second", "end"]);
});

test("a terminal that is finished gives what it holds, although its reader was paused", () => {
  const { master, rest, write } = openTerminal();
  const told: string[] = [];
  const source = readTerminal(master, rest, {
    data: (bytes) => told.push(Buffer.from(bytes).toString()),
    end: () => told.push("end"),
  });
  source.pause();
  write("held back");
  source.finish();
  source.finish();
  expect(told).toEqual(["held back", "end"]);
});
