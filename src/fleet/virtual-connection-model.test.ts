import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Fate } from "../../test/fixtures/fake-bus.ts";
import { connectPair, type End } from "../../test/fixtures/virtual-pair.ts";

beforeEach(() =>
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"],
  }),
);
afterEach(() => vi.useRealTimers());

const STEPS = 150;
const SEEDS = Array.from({ length: Number(process.env["FLEET_SEEDS"] ?? 8) }, (_, at) => at + 1);

test.each(SEEDS)(
  "whatever the bus loses, repeats and delays, both ends get what was sent (seed %i)",
  async (seed) => {
    const random = generator(seed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const { nats, client, executor } = await connectPair((ms) => vi.advanceTimersByTimeAsync(ms));
    const ends = [client, executor] as const;
    const sent = new Map<End, string[]>(ends.map((end) => [end, []]));
    const unflushed = new Set<number>();
    let messages = 0;
    const bad: Fate[] = ["is lost", "arrives twice", "arrives late"];
    for (let step = 0; step < STEPS; step += 1) {
      const end = ends[below(2)]!;
      const dice = below(12);
      if (dice < 6) {
        for (let count = below(8); count >= 0; count -= 1) {
          const message = `${(messages += 1)}:${"x".repeat(below(12) === 0 ? below(600_000) : below(200))}`;
          sent.get(end)!.push(message);
          const id = messages;
          unflushed.add(id);
          const flushed = (): void => expect(unflushed.delete(id)).toBe(true);
          if (below(3) === 0) end.transport.sendParts(halves(message), flushed);
          else end.transport.send(below(2) === 0 ? message : Buffer.from(message), flushed);
        }
      } else if (dice === 6) end.transport.pause();
      else if (dice === 7) end.transport.resume();
      else if (dice === 8 && end.bus.isConnected) end.bus.disconnect();
      else if (dice === 9 && !end.bus.isConnected) end.bus.reconnect();
      else if (dice === 10) {
        const oneIn = 2 + below(20);
        nats.fate = () => (below(oneIn) === 0 ? bad[below(3)]! : "arrives");
      } else nats.fate = () => "arrives";
      await vi.advanceTimersByTimeAsync(below(60));
      // Absences must not be so long that the other end gives up.
      if (step % 10 === 9) for (const { bus } of ends) if (!bus.isConnected) bus.reconnect();
    }
    nats.fate = () => "arrives";
    for (const { bus, transport } of ends) {
      if (!bus.isConnected) bus.reconnect();
      transport.resume();
    }
    await vi.advanceTimersByTimeAsync(5_000);
    expect(ends.map((end) => end.closed)).toEqual([undefined, undefined]);
    expect(executor.messages).toEqual(sent.get(client));
    expect(client.messages).toEqual(sent.get(executor));
    expect(unflushed.size).toBe(0);
    expect(ends.map((end) => end.transport.queuedBytes)).toEqual([0, 0]);
  },
);

function halves(message: string): Buffer[] {
  const bytes = Buffer.from(message);
  const middle = bytes.length >> 1;
  return [bytes.subarray(0, middle), bytes.subarray(middle)];
}

/** The same numbers for the same seed (mulberry32). */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
