import { closeSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { readPipe } from "./output-source.ts";
import { openPipe } from "./spawn.ts";

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
