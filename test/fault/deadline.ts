import { setTimeout as delay } from "node:timers/promises";

const POLL_INTERVAL_MS = 5;

/** Rejects when `promise` is not settled in time, so that a hang says what it was waiting for. */
export async function withDeadline<T>(
  promise: Promise<T>,
  deadlineMs: number,
  what: () => string,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`after ${deadlineMs} ms still waiting: ${what()}`)),
      deadlineMs,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** For things without events (files, /proc): polls until `look` returns something other than false. */
export async function pollUntil<T>(
  look: () => T | false | Promise<T | false>,
  deadlineMs: number,
  what: () => string,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const seen = await look();
    if (seen !== false) return seen;
    if (performance.now() > end) throw new Error(`after ${deadlineMs} ms still waiting: ${what()}`);
    await delay(POLL_INTERVAL_MS);
  }
}

/** Lets time pass for other processes alone, to meet them at another moment each time. */
export function spin(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
