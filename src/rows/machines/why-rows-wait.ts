import type { Machine } from "./machine.ts";

type Obstacle = "full" | "cordoned" | "draining" | "out of reach" | "refusing rows" | "being connected to";

type Seen = Pick<Machine, "state" | "room" | "slots" | "host" | "isConnected" | "failures" | "refusal">;

/** Why none of the machines takes a row, such as `3 machines match, all full (12 of 12 slots)`. */
export function whyRowsWait(machines: readonly Seen[]): string {
  const counts = new Map<Obstacle, number>();
  let slots = 0;
  for (const machine of machines) {
    const obstacle = obstacleOf(machine);
    if (obstacle === undefined) continue;
    if (obstacle === "full") slots += machine.slots;
    counts.set(obstacle, (counts.get(obstacle) ?? 0) + 1);
  }
  const parts = [...counts].map(([obstacle, count]) => ({
    count,
    text: obstacle === "full" ? `full (${slots} of ${slots} slots)` : obstacle,
  }));
  const [first, ...others] = parts.sort((one, other) => other.count - one.count);
  if (first === undefined) return "no machine matches the selection any longer";
  if (others.length > 0) {
    const sum = parts.reduce((total, { count }) => total + count, 0);
    return `${sum} machines match: ${parts.map(({ count, text }) => `${count} ${text}`).join(", ")}`;
  }
  return first.count === 1
    ? `1 machine matches, ${first.text}`
    : `${first.count} machines match, all ${first.text}`;
}

/** Undefined for a machine that the job cannot count on at all. */
function obstacleOf({ state, room, host, isConnected, failures, refusal }: Seen): Obstacle | undefined {
  if (state !== "ready") return state;
  if (refusal !== undefined) return "refusing rows";
  // Also during another attempt: the display must not change with each attempt.
  if (failures > 0 || (host !== undefined && !isConnected)) return "out of reach";
  return room === 0 ? "full" : "being connected to";
}
