import { pollUntil } from "./deadline.ts";
import type { SessionClient } from "./session-client.ts";

/** Milliseconds that each of so many small requests takes, one after another. */
export async function latencies(client: SessionClient, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const begun = performance.now();
    await client.request("environment/status");
    times.push(performance.now() - begun);
  }
  return times;
}

/** A few of many values say more about the machine than about the server: a pause is in the last percents. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
}

export interface Stillness {
  /** Asks the server: what does not change while the server itself stands still proves nothing. */
  readonly other: SessionClient;
  readonly turns: number;
  readonly deadlineMs: number;
  readonly what: string;
}

/** Resolves with the number once it has stayed the same while the server has answered so many requests. */
export async function whenStill(
  look: () => number,
  { other, turns, deadlineMs, what }: Stillness,
): Promise<number> {
  let last = look();
  let left = turns;
  await pollUntil(
    async () => {
      await other.request("environment/status");
      const now = look();
      left = now === last ? left - 1 : turns;
      last = now;
      return left <= 0;
    },
    deadlineMs,
    () => `${what}, now ${last}`,
  );
  return last;
}
