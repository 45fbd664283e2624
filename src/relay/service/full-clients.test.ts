import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Client } from "./client.ts";
import { FullClients } from "./full-clients.ts";
import { LIMITS } from "./limits.ts";

let clients: Set<Client>;
let isHeld: boolean;
let full: FullClients;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  [clients, isHeld] = [new Set(), false];
  full = new FullClients(clients, (held) => void (isHeld = held));
});
afterEach(() => void vi.useRealTimers());

function join(): Client & { socket: { queuedBytes: number } } {
  const client = { socket: { queuedBytes: 0 }, tookAt: performance.now() } as Client & {
    socket: { queuedBytes: number };
  };
  clients.add(client);
  full.balance();
  return client;
}

function take(client: Client & { socket: { queuedBytes: number } }, queuedBytes: number): void {
  Object.assign(client, { tookAt: performance.now() });
  client.socket.queuedBytes = queuedBytes;
  full.took(client);
}

test("a client that is alone holds up its executor until it has taken half", () => {
  const client = join();
  full.add(client);
  vi.advanceTimersByTime(10_000);
  expect(isHeld).toBe(true);
  take(client, LIMITS.fullBytes / 2 + 1);
  expect(isHeld).toBe(true);
  take(client, LIMITS.fullBytes / 2);
  expect(isHeld).toBe(false);
});

test("one among others does as long as it reads", () => {
  const client = join();
  join();
  full.add(client);
  for (let count = 0; count < 10; count += 1) {
    vi.advanceTimersByTime(LIMITS.stoppedMs - 1);
    expect(isHeld).toBe(true);
    take(client, LIMITS.fullBytes);
  }
  vi.advanceTimersByTime(2 * LIMITS.stoppedMs);
  expect(isHeld).toBe(false);
});

test("one that has stopped before does not, until it reads again", () => {
  const client = join();
  join();
  vi.advanceTimersByTime(LIMITS.stoppedMs);
  full.add(client);
  expect(isHeld).toBe(false);
  take(client, LIMITS.fullBytes);
  full.add(client);
  expect(isHeld).toBe(true);
});

test("one that has stopped does no longer when another comes, and again when it is alone", () => {
  const client = join();
  full.add(client);
  vi.advanceTimersByTime(LIMITS.stoppedMs);
  const other = join();
  expect(isHeld).toBe(false);
  clients.delete(other);
  full.delete(other);
  expect(isHeld).toBe(true);
});

test("one that is gone does not", () => {
  const client = join();
  full.add(client);
  clients.delete(client);
  full.delete(client);
  expect(isHeld).toBe(false);
});
