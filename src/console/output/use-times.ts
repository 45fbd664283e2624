import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Host } from "../../client/browser.ts";
import type { OutputFeed } from "./output-feed.ts";

const EVERY_MS = 1000;
/** Times are kept for so many events; older ones are shown without. */
const MAX_TIMES = 500_000;

export interface EventTimes {
  readonly isShown: boolean;
  /** When an event came, since the epoch. */
  timeOf(seq: number): number | undefined;
}

/** Times of a process's events, requested only while they are shown. */
export function useTimes(host: Host, feed: OutputFeed, isShown: Signal<boolean>): EventTimes {
  const known = useMemo(() => new Map<number, number>(), []);
  const changes = useSignal(0);
  useSignalEffect(() => {
    const process = feed.process.value;
    if (!isShown.value || process === undefined) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    let next = 1;
    for (const seq of known.keys()) next = Math.max(next, seq + 1);
    const ask = async (): Promise<void> => {
      const { firstSeq, timesMs } = await host.request("process/times", {
        processId: process.id,
        fromSeq: next,
      });
      if (isOver) return;
      for (const [offset, timeMs] of timesMs.entries()) known.set(firstSeq + offset, timeMs);
      next = firstSeq + timesMs.length;
      for (const seq of known.keys()) {
        if (known.size <= MAX_TIMES) break;
        known.delete(seq);
      }
      if (timesMs.length > 0) changes.value++;
      // An answer has a bound; the rest comes at once.
      timer = setTimeout(() => void again(), timesMs.length >= 16_384 ? 0 : EVERY_MS);
    };
    const again = (): Promise<void> =>
      ask().catch(() => {
        // Lines are shown without times; the banner reports the connection.
        if (!isOver) timer = setTimeout(() => void again(), EVERY_MS);
      });
    void again();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  });
  void changes.value;
  return { isShown: isShown.value, timeOf: (seq) => known.get(seq) };
}
