import type { Page } from "playwright-core";

declare global {
  interface Window {
    endFrameWatch?: () => { frames: number; longestMs: number; longestTaskMs: number };
  }
}

/** The longest pauses between two frames of a page, and the longest tasks of its only thread. */
export interface FrameTimes {
  readonly frames: number;
  readonly longestMs: number;
  readonly longestTaskMs: number;
}

/** Watches the frames of a page while something happens to it. */
export async function framesDuring(page: Page, happens: () => Promise<void>): Promise<FrameTimes> {
  await page.evaluate(() => {
    let [frames, longestMs, longestTaskMs] = [0, 0, 0];
    let last = performance.now();
    let running = true;
    const frame = (): void => {
      const now = performance.now();
      longestMs = Math.max(longestMs, now - last);
      last = now;
      frames += 1;
      if (running) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longestTaskMs = Math.max(longestTaskMs, duration);
    });
    observer.observe({ type: "longtask" });
    window.endFrameWatch = () => {
      running = false;
      observer.disconnect();
      return { frames, longestMs, longestTaskMs };
    };
  });
  await happens();
  return page.evaluate(() => window.endFrameWatch!());
}

/** Bytes of JavaScript that the page holds, after a collection. */
export async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    return usedSize;
  } finally {
    await session.detach();
  }
}
