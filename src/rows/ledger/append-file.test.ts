import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createDeferred } from "../../base/deferred.ts";
import { AppendFile } from "./append-file.ts";

let directory: string;
let path: string;
let handle: FileHandle;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "append-file-"));
  path = join(directory, "ledger");
  handle = await open(path, "a");
});
afterEach(async () => {
  await handle.close();
  rmSync(directory, { recursive: true });
});

/** A file whose flushes end on command. */
function appending(datasync: () => Promise<void>): AppendFile {
  const file = { fd: handle.fd, datasync } as unknown as FileHandle;
  return new AppendFile(file, { path, size: 0, sync: true });
}

const full = Object.assign(new Error("no space"), { code: "ENOSPC" });

it("writes nothing more once a write has failed, even if the disk has room again", async () => {
  let flushes = 0;
  const file = appending(async () => {
    flushes += 1;
    if (flushes === 1) throw full;
  });
  const message = `cannot write ${path}: ENOSPC`;
  await expect(file.append("first\n")).rejects.toThrow(message);
  await expect(file.append("second\n")).rejects.toThrow(message);
  await expect(file.append("third\n")).rejects.toThrow(message);
  expect(readFileSync(path, "utf8")).toBe("first\n");
  expect([flushes, file.size]).toEqual([1, 6]);
});

it("refuses with the same error what was added while the failing write was under way", async () => {
  const flushed = createDeferred<void>();
  const begun = createDeferred<void>();
  const file = appending(async () => {
    begun.resolve();
    await flushed.promise;
  });
  const first = file.append("first\n");
  await begun.promise;
  const second = file.append("second\n");
  flushed.reject(full);
  const message = `cannot write ${path}: ENOSPC`;
  await expect(first).rejects.toThrow(message);
  await expect(second).rejects.toThrow(message);
  expect(readFileSync(path, "utf8")).toBe("first\n");
});
