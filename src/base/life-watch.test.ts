import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DEFAULT_LIFE, LifeWatch, type Watched } from "./life-watch.ts";

const { askMs, silenceMs } = DEFAULT_LIFE;

/** A manual peer. With `answers` it gives a sign of life whenever asked. */
function watch({ answers }: { answers: boolean }) {
  const peer = {
    patience: 1,
    received: 0,
    sent: 0,
    queued: 0,
    reading: true,
    asked: 0,
    lostAt: undefined as number | undefined,
  };
  const begun = performance.now();
  const watched: Watched = {
    signs: () => ({ received: peer.received, sent: peer.sent, queued: peer.queued }),
    isReading: () => peer.reading,
    patience: () => peer.patience,
    ask: () => {
      peer.asked += 1;
      if (answers) peer.received += 1;
    },
    lost: () => {
      peer.lostAt = performance.now() - begun;
    },
  };
  const life = new LifeWatch(watched, DEFAULT_LIFE);
  return { peer, life };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("LifeWatch", () => {
  it("gives a silent peer up within 10 s, at whatever moment the silence begins", () => {
    for (let begins = 0; begins < 6_000; begins += 250) {
      const { peer, life } = watch({ answers: false });
      // The peer answers until then.
      let at = 0;
      for (; at < begins; at += 250) {
        peer.received += 1;
        vi.advanceTimersByTime(250);
      }
      expect(peer.lostAt).toBeUndefined();
      vi.advanceTimersByTime(10_000);
      expect(peer.lostAt! - at).toBeLessThan(10_000);
      expect(peer.lostAt! - at).toBeGreaterThan(silenceMs);
      life.stop();
    }
  });

  it("keeps a quiet peer that answers, and asks it only when nothing else came", () => {
    const { peer, life } = watch({ answers: true });
    vi.advanceTimersByTime(120_000);
    expect(peer.lostAt).toBeUndefined();
    expect(peer.asked).toBeLessThanOrEqual(60_000 / askMs + 1);
    const { asked } = peer;
    for (let at = 0; at < 60_000; at += 500) {
      peer.received += 1;
      vi.advanceTimersByTime(500);
    }
    expect(peer.asked).toBe(asked);
    life.stop();
  });

  it("keeps a peer that does something else for 5 s, at whatever moment it begins", () => {
    for (let begins = 0; begins < 6_000; begins += 100) {
      const { peer, life } = watch({ answers: true });
      vi.advanceTimersByTime(begins);
      const silent = { ...peer };
      // The peer never answers.
      for (let at = 0; at < 5_000; at += 100) {
        vi.advanceTimersByTime(100);
        peer.received = silent.received;
      }
      peer.received += 1;
      vi.advanceTimersByTime(10_000);
      expect(peer.lostAt, `begins at ${begins}`).toBeUndefined();
      life.stop();
    }
  });

  it("takes no silence for one while this side does not read", () => {
    const { peer, life } = watch({ answers: false });
    peer.reading = false;
    vi.advanceTimersByTime(60_000);
    expect(peer.lostAt).toBeUndefined();
    expect(peer.asked).toBe(0);
    peer.reading = true;
    vi.advanceTimersByTime(10_000);
    expect(peer.lostAt).toBeDefined();
    life.stop();
  });

  it("keeps a peer that takes a long message slowly, and not one that takes no more of it", () => {
    const { peer, life } = watch({ answers: false });
    peer.queued = 1_000_000;
    for (let round = 0; round < 30; round += 1) {
      peer.sent += 1;
      peer.queued -= 1;
      vi.advanceTimersByTime(2_000);
    }
    expect(peer.lostAt).toBeUndefined();
    vi.advanceTimersByTime(10_000);
    expect(peer.lostAt).toBeDefined();
    life.stop();
  });

  it("is not deceived by small messages that the network takes for a peer that is gone", () => {
    const { peer } = watch({ answers: false });
    for (let at = 0; at < 10_000; at += 100) {
      peer.sent += 1;
      vi.advanceTimersByTime(100);
    }
    expect(peer.lostAt).toBeDefined();
  });

  it("asks again after this program was held up, before it believes in a silence", () => {
    const { peer, life } = watch({ answers: false });
    vi.advanceTimersByTime(askMs);
    // Nothing ran for a minute: neither timers nor reading.
    vi.setSystemTime(Date.now() + 60_000);
    const { asked } = peer;
    vi.advanceTimersByTime(askMs);
    expect(peer.lostAt).toBeUndefined();
    expect(peer.asked).toBe(asked + 1);
    peer.received += 1;
    vi.advanceTimersByTime(askMs);
    expect(peer.lostAt).toBeUndefined();
    life.stop();
  });

  it("finds out soon after a sleep that the peer is gone", () => {
    const { peer } = watch({ answers: false });
    peer.received += 1;
    vi.advanceTimersByTime(askMs);
    vi.setSystemTime(Date.now() + 3_600_000);
    const woken = performance.now();
    vi.advanceTimersByTime(6_001);
    expect(peer.lostAt).toBeDefined();
    expect(performance.now() - woken).toBeLessThan(7_000);
  });

  it("is not deceived by a clock that is set back", () => {
    const { peer } = watch({ answers: false });
    for (let at = 0; at < 10; at += 1) {
      vi.advanceTimersByTime(1_000);
      vi.setSystemTime(Date.now() - 5_000);
    }
    expect(peer.lostAt).toBeDefined();
  });

  it("waits longer for a peer that is known to be at work, and no longer than for that", () => {
    const { peer } = watch({ answers: false });
    peer.patience = 5;
    vi.advanceTimersByTime(26_000);
    expect(peer.lostAt).toBeUndefined();
    vi.advanceTimersByTime(5_000);
    expect(peer.lostAt).toBeDefined();
  });
});
