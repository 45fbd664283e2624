import { closeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { libc } from "./libc.ts";
import { readStat } from "./process-stat.ts";
import { type ExitStatus, Reaper } from "./reaper.ts";
import { openPipe, spawnListener } from "./spawn.ts";

interface Child {
  readonly pid: number;
  /** Lets it exit. */
  end(): void;
}

/** A child unknown to Node that exits with this status on request. */
function startChild(status: number): Child {
  const { readEnd, writeEnd } = openPipe();
  const argv = ["sh", "-c", `read -r nothing; exit ${status}`];
  const pid = spawnListener({ path: "/bin/sh", argv, env: [], cwd: "/" }, { stdin: readEnd, table: readEnd });
  closeSync(readEnd);
  return { pid, end: () => closeSync(writeEnd) };
}

/** A zombie that is never reaped: it stays the first child that the system reports. */
async function leaveForeignChild(): Promise<void> {
  const foreign = startChild(9);
  foreign.end();
  onTestFinished(() => {
    libc().wait4(foreign.pid, new Int32Array(1), 0, new BigInt64Array(18));
  });
  while (readStat(foreign.pid)?.alive === true) await delay(1);
}

function watched(reaper: Reaper, { pid }: Child): Promise<ExitStatus> {
  return new Promise((resolve) => reaper.watch(pid, resolve));
}

test("children are reported while one of others waits in front of them", async () => {
  const reaper = new Reaper();
  reaper.listen();
  await leaveForeignChild();
  const children = [startChild(3), startChild(4)];
  const ends = children.map((child) => watched(reaper, child));
  for (const child of children) child.end();
  expect((await Promise.all(ends)).map(({ exitCode }) => exitCode)).toEqual([3, 4]);
  const last = startChild(5);
  const end = watched(reaper, last);
  last.end();
  expect((await end).exitCode).toBe(5);
});

test("many ends are reported one by one", async () => {
  const reaper = new Reaper();
  reaper.listen();
  const children = Array.from({ length: 20 }, (_, index) => startChild(index));
  const ends = children.map((child) => watched(reaper, child));
  for (const child of children) child.end();
  expect((await Promise.all(ends)).map(({ exitCode }) => exitCode)).toEqual(Array.from(children.keys()));
});

test("nobody listens to signals any more when the last child has ended", async () => {
  const before = process.listenerCount("SIGCHLD");
  for (let times = 0; times < 12; times++) {
    const reaper = new Reaper();
    reaper.listen();
    const child = startChild(times);
    const end = watched(reaper, child);
    expect(process.listenerCount("SIGCHLD")).toBe(before + 1);
    child.end();
    expect((await end).exitCode).toBe(times);
    expect(process.listenerCount("SIGCHLD")).toBe(before);
  }
});

test("any number of them share one listener, which leaves with the last child", async () => {
  const before = process.listenerCount("SIGCHLD");
  const children = Array.from({ length: 12 }, (_, status) => startChild(status));
  const ends = children.map((child) => watched(new Reaper(), child));
  expect(process.listenerCount("SIGCHLD")).toBe(before + 1);
  for (const child of children) child.end();
  expect((await Promise.all(ends)).map(({ exitCode }) => exitCode)).toEqual(
    children.map((_, status) => status),
  );
  expect(process.listenerCount("SIGCHLD")).toBe(before);
});
