import { fdatasync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { linesOf } from "../../../test/fixtures/audit-lines.ts";
import { silentLogger } from "../../base/logger.ts";
import { AuditLog } from "./audit-log.ts";
import { rotatedNumbers } from "./rotated-files.ts";

vi.mock("node:fs", async (load) => {
  const actual = await load<typeof import("node:fs")>();
  return { ...actual, fdatasync: vi.fn(actual.fdatasync) };
});

const FLUSH_DELAY_MS = 20;
const SYNC_INTERVAL_MS = 1_000;
const RETRY_DELAY_MS = 1_000;
const DEADLINE_MS = 20_000;
const sync = vi.mocked(fdatasync);

let file: string;
let log: AuditLog;

async function until(reached: () => boolean): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!reached() && performance.now() < deadline) await turn();
  expect(reached()).toBe(true);
}

async function written(lines: number): Promise<void> {
  vi.advanceTimersByTime(FLUSH_DELAY_MS);
  await until(() => log.head.line >= lines);
}

function failOnce(): void {
  const error = Object.assign(new Error("i/o error"), { code: "EIO", errno: -5 });
  sync.mockImplementationOnce((_, done) => done(error));
}

beforeEach(async () => {
  const directory = mkdtempSync(join(tmpdir(), "exec-server-audit-sync-"));
  file = join(directory, "audit.jsonl");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  log = new AuditLog({ file, maxBytes: 1_000, logger: silentLogger, version: undefined });
  onTestFinished(async () => {
    vi.useRealTimers();
    await log.close();
    rmSync(directory, { recursive: true, force: true });
  });
  await written(1);
  sync.mockClear();
});

it("what was written is on the disk a second later, and nothing else costs a sync", async () => {
  log.add("test", {});
  await written(2);
  vi.advanceTimersByTime(SYNC_INTERVAL_MS - FLUSH_DELAY_MS - 1);
  expect(sync).toHaveBeenCalledTimes(0);
  vi.advanceTimersByTime(1);
  await until(() => sync.mock.calls.length === 1);
  vi.advanceTimersByTime(10 * SYNC_INTERVAL_MS);
  expect(sync).toHaveBeenCalledTimes(1);
  log.add("test", {});
  await written(3);
  await log.close();
  expect(sync).toHaveBeenCalledTimes(2);
});

it("a disk that loses what was written is trouble, until something can be written again", async () => {
  failOnce();
  vi.advanceTimersByTime(SYNC_INTERVAL_MS);
  await until(() => log.trouble !== undefined);
  expect(log.trouble?.message).toContain("I/O error");
  vi.advanceTimersByTime(RETRY_DELAY_MS);
  await until(() => log.trouble === undefined);
  expect(linesOf(file).map(({ event }) => event)).toEqual(["opened", "failed"]);
});

it("a full file is on the disk before the next one is begun, if not at the first attempt", async () => {
  log.add("long", { text: "x".repeat(1_000) });
  await written(2);
  failOnce();
  log.add("next", {});
  vi.advanceTimersByTime(FLUSH_DELAY_MS);
  await until(() => log.trouble !== undefined);
  expect([rotatedNumbers(file), sync.mock.calls.length]).toEqual([[], 1]);
  vi.advanceTimersByTime(RETRY_DELAY_MS);
  await until(() => log.trouble === undefined);
  expect(sync.mock.calls.length).toBeGreaterThan(1);
  expect([rotatedNumbers(file), linesOf(file).map(({ event }) => event)]).toEqual([
    [1],
    ["opened", "next", "failed"],
  ]);
});
