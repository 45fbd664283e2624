import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Peer } from "./peer.ts";
import { giveSignOfLife } from "./sign-of-life.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

interface FakePeer {
  ended: boolean;
  receivedBytes: number | undefined;
  queuedBytes: number;
  pings: number;
  ping(): boolean;
}

function createPeer(more: Partial<FakePeer> = {}): FakePeer {
  const peer: FakePeer = {
    ended: false,
    receivedBytes: 100,
    queuedBytes: 0,
    pings: 0,
    ping: () => {
      peer.pings += 1;
      return peer.receivedBytes !== undefined;
    },
    ...more,
  };
  return peer;
}

/** The verdict, and after how long it came. */
async function verdict(
  peer: FakePeer,
  during: (atMs: number) => void = () => {},
): Promise<[boolean, number]> {
  let result: boolean | undefined;
  void giveSignOfLife(peer as Partial<Peer> as Peer).then((isAlive) => {
    result = isAlive;
  });
  for (let atMs = 0; atMs <= 5_000; atMs += 50) {
    await vi.advanceTimersByTimeAsync(0);
    if (result !== undefined) return [result, atMs];
    during(atMs);
    await vi.advanceTimersByTimeAsync(50);
  }
  throw new Error("no verdict");
}

it("who says nothing for 2 s is gone, and was asked once", async () => {
  const peer = createPeer({ queuedBytes: 5_000_000 });
  expect(await verdict(peer)).toEqual([false, 2_000]);
  expect(peer.pings).toBe(1);
});

it.each([0, 500, 1_900])("any bytes after %d ms are a sign of life", async (whenMs) => {
  const peer = createPeer();
  const [isAlive, atMs] = await verdict(peer, (now) => {
    if (now === whenMs) peer.receivedBytes = 101;
  });
  expect(isAlive).toBe(true);
  expect(atMs).toBeLessThanOrEqual(whenMs + 100);
});

it("a machine that stands still gives nobody up, unless it always does", async () => {
  let stoodStillMs = 0;
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + stoodStillMs);
  const [isAlive, atMs] = await verdict(createPeer(), (lookMs) => {
    if (lookMs === 1_950) stoodStillMs += 60_000;
  });
  // The look after the standstill does not count; the next one does.
  expect([isAlive, atMs]).toEqual([false, 2_050]);
  const [isStillAlive, lateMs] = await verdict(createPeer(), () => {
    stoodStillMs += 200;
  });
  // 40 late looks, and eight that count 250 ms each.
  expect([isStillAlive, lateMs]).toEqual([false, 2_400]);
});

it("who takes what it was sent is there, though the question has not reached it", async () => {
  const peer = createPeer({ queuedBytes: 80_000_000 });
  const [isAlive] = await verdict(peer, (now) => {
    if (now === 1_000) peer.queuedBytes -= 65_536;
  });
  expect(isAlive).toBe(true);
});

it("who ends is gone at once", async () => {
  const peer = createPeer();
  const [isAlive, atMs] = await verdict(peer, (now) => {
    if (now === 300) peer.ended = true;
  });
  expect([isAlive, atMs]).toEqual([false, 350]);
  expect(await verdict(createPeer({ ended: true }))).toEqual([false, 0]);
});

it("who cannot be asked is there", async () => {
  expect(await verdict(createPeer({ receivedBytes: undefined }))).toEqual([true, 0]);
});
