import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { linesOf } from "../../../test/fixtures/audit-lines.ts";
import { type LogFields, silentLogger } from "../../base/logger.ts";
import { AuditFile } from "./audit-file.ts";
import { AuditLog } from "./audit-log.ts";

const FLUSH_DELAY_MS = 20;
const RETRY_DELAY_MS = 1_000;
/** Some in the time of each write, and fewer than one write takes in each period. */
const LINES_PER_MS = 20;
/** Lines, and characters of lines, that wait for a disk. */
const MAX_QUEUED_LINES = 65_536;
const MAX_QUEUED_MIB = 16;
/** Lines whose text is not made yet. */
const MAX_DRAFTS = 64;
const DEADLINE_MS = 20_000;

class Scene {
  readonly #directory = mkdtempSync(join(tmpdir(), "exec-server-audit-log-"));
  readonly file = join(this.#directory, "audit.jsonl");
  /** What the server's log has about trouble. */
  readonly logged: [string, LogFields | undefined][] = [];
  readonly log: AuditLog;

  constructor() {
    onTestFinished(() => rmSync(this.#directory, { recursive: true, force: true }));
    this.log = this.open();
  }

  open(): AuditLog {
    const tell = (message: string, fields?: LogFields) => void this.logged.push([message, fields]);
    return new AuditLog({
      file: this.file,
      maxBytes: 1024 * 1024 * 1024,
      logger: { ...silentLogger, warn: tell, error: tell },
      version: undefined,
    });
  }

  events(): string[] {
    return linesOf(this.file).map(({ event }) => event);
  }

  /** Nothing can be written from here on, and a line waits. */
  async break(): Promise<void> {
    await this.written(1);
    renameSync(this.file, `${this.file}.aside`);
    writeFileSync(this.file, "foreign");
    this.log.add("kept", {});
    vi.advanceTimersByTime(FLUSH_DELAY_MS);
    await until(() => this.log.trouble !== undefined);
  }

  mend(): void {
    rmSync(this.file);
    renameSync(`${this.file}.aside`, this.file);
  }

  async written(lines: number): Promise<void> {
    vi.advanceTimersByTime(FLUSH_DELAY_MS);
    await until(() => this.log.head.line >= lines);
  }
}

async function until(reached: () => boolean): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!reached() && performance.now() < deadline) await turn();
  expect(reached()).toBe(true);
}

function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
}

it("lines that come while others are written wait for more, so that there are few writes", async () => {
  const { log } = new Scene();
  const heads = new Set<number>();
  const begun = performance.now();
  let lines = 0;
  for (let now = begun; now < begun + 300 || heads.size < 4; now = performance.now()) {
    if (lines < (now - begun) * LINES_PER_MS) log.add("test", { line: ++lines });
    await turn();
    heads.add(log.head.line);
  }
  // A timer may come a fraction of a millisecond early. The first head is from before the first write.
  const periods = (performance.now() - begun) / (FLUSH_DELAY_MS - 1);
  expect(heads.size - 1).toBeLessThanOrEqual(periods + 1);
  await log.close();
  // With `opened` and `stopped`.
  expect(log.head.line).toBe(lines + 2);
});

it("a log that is closed takes no more lines, leaves no timer behind, and lets others have its file", async () => {
  fakeTimers();
  const scene = new Scene();
  const { log } = scene;
  log.add("early", {});
  await scene.written(2);
  log.add("late", {});
  await log.close();
  expect(vi.getTimerCount()).toBe(0);
  let asked = 0;
  for (let count = 0; count < 2 * MAX_DRAFTS; count += 1) log.add("too late", () => `,"asked":${++asked}`);
  await log.close();
  expect([asked, vi.getTimerCount()]).toEqual([0, 0]);
  expect(scene.events()).toEqual(["opened", "early", "late", "stopped"]);
  await scene.open().close();
  expect(scene.events().slice(4)).toEqual(["opened", "stopped"]);
  expect(scene.logged).toEqual([]);
});

it("the texts of lines are made when they are written, or when there are many", async () => {
  fakeTimers();
  const scene = new Scene();
  await scene.written(1);
  let made = 0;
  const add = (): number => scene.log.add("test", () => `,"made":${++made}`);
  for (let count = 1; count < MAX_DRAFTS; count += 1) add();
  expect(made).toBe(0);
  add();
  expect(made).toBe(MAX_DRAFTS);
  add();
  expect(made).toBe(MAX_DRAFTS);
  await scene.written(MAX_DRAFTS + 2);
  expect(linesOf(scene.file).map((line) => line["made"])).toEqual([
    undefined,
    ...Array.from({ length: MAX_DRAFTS + 1 }, (_, index) => index + 1),
  ]);
  await scene.log.close();
});

it("a log that is closed has reached the disk", async () => {
  const scene = new Scene();
  let isSynced = false;
  const syncing = vi.spyOn(AuditFile.prototype, "sync").mockImplementation(async () => {
    await turn();
    isSynced = true;
  });
  onTestFinished(() => syncing.mockRestore());
  await scene.log.close();
  expect(isSynced).toBe(true);
});

it("a log that is closed while it writes has each line once", async () => {
  fakeTimers();
  const scene = new Scene();
  vi.advanceTimersByTime(FLUSH_DELAY_MS);
  scene.log.add("meanwhile", {});
  await scene.log.close();
  expect(scene.events()).toEqual(["opened", "meanwhile", "stopped"]);
});

it("lines that cannot be written wait until they can be", async () => {
  fakeTimers();
  const scene = new Scene();
  const { log } = scene;
  await scene.break();
  const reason = `another file has replaced the audit log ${scene.file}: move it away`;
  expect(log.trouble).toMatchObject({ message: reason });
  log.add("later", {});
  for (let tries = 0; tries < 2; tries += 1) {
    vi.advanceTimersByTime(RETRY_DELAY_MS);
    await turn();
  }
  expect(scene.logged).toEqual([["the audit log cannot be written", { reason }]]);
  scene.mend();
  vi.advanceTimersByTime(RETRY_DELAY_MS);
  await until(() => log.trouble === undefined);
  expect(scene.logged.slice(1)).toEqual([
    ["the audit log can be written again", { afterMs: expect.any(Number) as number, lost: 0 }],
  ]);
  log.add("after", {});
  await scene.written(5);
  await log.close();
  expect(scene.events()).toEqual(["opened", "kept", "failed", "later", "after", "stopped"]);
  expect(linesOf(scene.file)[2]).toMatchObject({ reason });
  expect(linesOf(scene.file).map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6]);
});

it("an end that cannot be written is reported with the number of its lines", async () => {
  fakeTimers();
  const scene = new Scene();
  await scene.break();
  await scene.log.close();
  // The line, `failed` and `stopped`.
  expect(scene.logged.slice(1)).toEqual([["the end of the audit log could not be written", { lines: 3 }]]);
  expect(vi.getTimerCount()).toBe(0);
  scene.mend();
  await scene.open().close();
  expect(scene.events()).toEqual(["opened", "opened", "stopped"]);
});

it("so many lines wait and no more: the others are counted, and their number is recorded", async () => {
  fakeTimers();
  const scene = new Scene();
  const { log } = scene;
  await scene.break();
  // One line waits, and `failed`.
  for (let lines = 2; lines < MAX_QUEUED_LINES * 0.75; lines += 1) log.add("waiting", "");
  expect(log.isFull).toBe(false);
  log.add("waiting", "");
  expect(log.isFull).toBe(true);
  for (let lines = MAX_QUEUED_LINES * 0.75 + 1; lines < MAX_QUEUED_LINES; lines += 1) log.add("waiting", "");
  expect(log.lost).toBe(0);
  for (let lost = 0; lost < 3; lost += 1) log.add("lost", "");
  expect(log.lost).toBe(3);
  scene.mend();
  vi.advanceTimersByTime(RETRY_DELAY_MS);
  await until(() => log.head.line === MAX_QUEUED_LINES + 1);
  expect([log.isFull, log.trouble]).toEqual([false, undefined]);
  log.add("after", {});
  log.add("after", {});
  await log.close();
  expect(linesOf(scene.file).slice(MAX_QUEUED_LINES)).toMatchObject([
    { event: "waiting" },
    { event: "gap", lost: 3 },
    { event: "after" },
    { event: "after" },
    { event: "stopped" },
  ]);
  expect(log.lost).toBe(3);
});

it("long lines wait up to so many characters, and what is lost until the end is recorded with it", async () => {
  fakeTimers();
  const scene = new Scene();
  const { log } = scene;
  await scene.break();
  const half = `,"text":"${"x".repeat(512 * 1024)}"`;
  for (let lines = 0; lines < MAX_QUEUED_MIB * 2 * 0.75; lines += 1) {
    expect(log.isFull).toBe(false);
    log.add("waiting", half);
  }
  expect(log.isFull).toBe(true);
  for (let lines = 0; lines < MAX_QUEUED_MIB * 2 * 0.25; lines += 1) log.add("waiting", half);
  expect(log.lost).toBe(0);
  log.add("lost", {});
  scene.mend();
  await log.close();
  expect(linesOf(scene.file).slice(-2)).toMatchObject([{ event: "gap", lost: 1 }, { event: "stopped" }]);
});

it("says which lines are in the file, once they are", async () => {
  fakeTimers();
  const scene = new Scene();
  const { log } = scene;
  const written: number[] = [];
  log.onWritten((line) => written.push(line));
  await scene.written(1);
  const numbers = ["a", "b"].map((event) => log.add(event, {}));
  expect(numbers).toEqual([2, 3]);
  expect(written).toEqual([1]);
  await scene.written(3);
  expect(written).toEqual([1, 3]);
  await scene.break();
  const late = log.add("late", {});
  vi.advanceTimersByTime(RETRY_DELAY_MS);
  await turn();
  expect(written.every((line) => line < late)).toBe(true);
  scene.mend();
  await log.close();
  expect(written.some((line) => line >= late)).toBe(true);
  expect(log.add("too late", {})).toBe(Number.POSITIVE_INFINITY);
});
