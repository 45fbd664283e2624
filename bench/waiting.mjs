import { setTimeout as delay } from "node:timers/promises";

const CALL_DEADLINE_MS = 60_000;

/** Fails a measurement that hangs, instead of hanging the run. */
export async function withDeadline(promise, what, deadlineMs = CALL_DEADLINE_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing after ${deadlineMs} ms`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs `work(i)` for i in 0..count-1, `atATime` of them concurrently; resolves with the seconds it took. */
export async function inLanes(count, atATime, work) {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: Math.min(atATime, count) }, lane));
  return (performance.now() - begun) / 1000;
}

/**
 * Resolves with the value of `sample` once it has changed by less than `tolerance` over a second, or after five
 * seconds.
 */
export async function settled(sample, tolerance) {
  const PERIOD_MS = 200;
  const recent = [];
  for (let i = 0; i < 25; i++) {
    recent.push(await sample());
    const last = recent.slice(-6);
    if (last.length === 6 && Math.max(...last) - Math.min(...last) <= tolerance) break;
    await delay(PERIOD_MS);
  }
  return recent.at(-1);
}

/** Runs `work(i)` for each i below `count`, one after another; resolves with the microseconds of each. */
export async function inTurn(count, work) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const begun = performance.now();
    await work(i);
    times.push((performance.now() - begun) * 1000);
  }
  return times;
}
