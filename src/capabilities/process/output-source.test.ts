import { closeSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { lookForEndsOfPipes, readPipe } from "./output-source.ts";
import { duplicate, makeNonBlocking, openPipe } from "./spawn.ts";

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

/** A pipe whose process has ended while somebody else still holds it. */
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
