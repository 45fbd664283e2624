import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { auditLines, CAUGHT_UP } from "./audit-lines.ts";

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "audit-lines-"));
  path = join(directory, "audit.jsonl");
});
afterEach(() => rmSync(directory, { recursive: true }));

it("reads the full files first, in the order of their numbers, and leaves out half a line", async () => {
  writeFileSync(`${path}.10`, "c\n");
  writeFileSync(`${path}.2`, "b\n");
  writeFileSync(`${path}.1`, "a\n");
  writeFileSync(path, "d\ne\nhalf");
  const read: unknown[] = [];
  for await (const line of auditLines(path)) read.push(line);
  expect(read).toEqual(["a", "b", "c", "d", "e", CAUGHT_UP]);
});

it("follows a log through files that are full, and through one that is gone", async () => {
  writeFileSync(path, "a\nb");
  const lines = auditLines(path, { follow: true });
  const next = async (): Promise<unknown> => (await lines.next()).value;
  expect([await next(), await next()]).toEqual(["a", CAUGHT_UP]);
  appendFileSync(path, "b\n");
  expect(await next()).toBe("bb");
  appendFileSync(path, "c\n");
  renameSync(path, `${path}.1`);
  writeFileSync(`${path}.2`, "d\n");
  writeFileSync(path, "e\n");
  expect([await next(), await next(), await next()]).toEqual(["c", "d", "e"]);
  appendFileSync(path, "half");
  renameSync(path, join(directory, "elsewhere"));
  writeFileSync(path, "f\n");
  expect(await next()).toBe("f");
  await lines.return(undefined);
});
