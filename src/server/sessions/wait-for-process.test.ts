import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ManagedProcess } from "../../capabilities/process/managed-process.ts";
import { waitForProcess } from "./wait-for-process.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A process without events, and its listeners. */
function createProcess() {
  const listeners = new Set<() => void>();
  const process = {
    listen: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  } as unknown as ManagedProcess;
  return { process, listeners };
}

async function isOver(wait: Promise<void>): Promise<boolean> {
  let over = false;
  void wait.then(() => {
    over = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  return over;
}

it.each([undefined, 60_000])(
  "a wait with a time limit of %s ends with its client, and leaves nothing",
  async (timeoutMs) => {
    const { process, listeners } = createProcess();
    const client = new AbortController();
    const { signal } = client;
    const wait = waitForProcess(process, () => false, { timeoutMs, signal });
    expect([await isOver(wait), listeners.size]).toEqual([false, 1]);
    client.abort();
    expect(await isOver(wait)).toBe(true);
    expect([listeners.size, vi.getTimerCount(), getEventListeners(signal, "abort").length]).toEqual([
      0, 0, 0,
    ]);
  },
);

it("a wait for a client that is gone already is over", async () => {
  const { process, listeners } = createProcess();
  const wait = waitForProcess(process, () => false, { timeoutMs: undefined, signal: AbortSignal.abort() });
  expect([await isOver(wait), listeners.size]).toEqual([true, 0]);
});

it("a wait that is over leaves nothing to its client, however many there were", async () => {
  const { process, listeners } = createProcess();
  const { signal } = new AbortController();
  let holds = false;
  const waits = Array.from({ length: 100 }, (_, index) =>
    waitForProcess(process, () => holds, { timeoutMs: index % 2 === 0 ? 1000 : undefined, signal }),
  );
  await vi.advanceTimersByTimeAsync(1000);
  holds = true;
  for (const listener of listeners) listener();
  await Promise.all(waits);
  expect([listeners.size, vi.getTimerCount(), getEventListeners(signal, "abort").length]).toEqual([0, 0, 0]);
});
