import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { limitFileSize } from "../../../test/fixtures/file-size-limit.ts";
import { temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AuditFile } from "./audit-file.ts";

it("does not continue a file that anyone can write to, nor after one", () => {
  const path = join(temporaryDirectory(), "audit.jsonl");
  for (const open of [path, `${path}.1`]) {
    writeFileSync(open, "");
    chmodSync(open, 0o606);
    expect(() => AuditFile.open(path)).toThrow(
      `the audit log ${open} is not safe: anyone can write to it; run: chmod o-w ${open}`,
    );
    chmodSync(open, 0o640);
  }
});

it("keeps whole lines alone when the disk is full, and continues when it is not", async () => {
  const path = join(temporaryDirectory(), "audit.jsonl");
  const { file } = AuditFile.open(path);
  onTestFinished(() => file.close());
  await file.append(Buffer.from("first\n"));
  const freeSpace = limitFileSize(10);
  await expect(file.append(Buffer.from("second\n")))
    .rejects.toThrow(`cannot write the audit log ${path}: `)
    .finally(freeSpace);
  expect(readFileSync(path, "latin1")).toBe("first\n");
  await file.append(Buffer.from("third\n"));
  expect(readFileSync(path, "latin1")).toBe("first\nthird\n");
  expect(file.size).toBe(12);
});
