import type { Browser, Page } from "playwright-core";

/** What a page did while something happened to it, without what the test had it do to look at it. */
export interface PageWork {
  /** Processor time of the longest task of its main thread. */
  readonly longestTaskMs: number;
  /** The same with the time that other programs took. */
  readonly longestTaskWallMs: number;
  readonly tasks: number;
  /** Between two frames, with the time that other programs took. */
  readonly longestFrameGapMs: number;
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args?: {
    readonly name?: string;
    readonly chrome_mojo_event_info?: { readonly mojo_interface_tag?: string };
  };
}

/** How Playwright asks the page something. Finding elements by their names takes longer than much of the page's work. */
const QUESTION = "blink.mojom.DevToolsSession";

/** Watches the main thread of a page. It must be the only one that the browser shows. */
export async function workDuring(
  browser: Browser,
  page: Page,
  happens: () => Promise<void>,
): Promise<PageWork> {
  await browser.startTracing(page, { categories: ["toplevel"] });
  const gaps = await page.evaluateHandle(watchFrames);
  await happens();
  const longestFrameGapMs = await gaps.evaluate((stop) => stop());
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    readonly traceEvents: readonly TraceEvent[];
  };
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const ofPage = traceEvents.filter(({ pid, tid }) => threads.has(`${pid} ${tid}`));
  const questions = ofPage
    .filter(({ args }) => args?.chrome_mojo_event_info?.mojo_interface_tag === QUESTION)
    .map(({ pid, ts }) => ({ pid, ts }));
  if (questions.length === 0)
    throw new Error("the trace does not tell which tasks are questions of the test");
  const tasks = ofPage.filter(
    ({ name, pid, ts, dur = 0 }) =>
      name === "ThreadControllerImpl::RunTask" &&
      !questions.some((question) => question.pid === pid && question.ts >= ts && question.ts <= ts + dur),
  );
  if (!tasks.some(({ tdur }) => tdur !== undefined))
    throw new Error(`the trace has ${traceEvents.length} events, and no processor time of tasks`);
  return {
    longestTaskMs: Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000,
    longestTaskWallMs: Math.max(...tasks.map(({ dur = 0 }) => dur)) / 1000,
    tasks: tasks.length,
    longestFrameGapMs,
  };
}

/** Runs in the page. The returned function ends it, and returns the longest time between two frames. */
function watchFrames(): () => number {
  let last = performance.now();
  let longest = 0;
  let isOver = false;
  const onFrame = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) requestAnimationFrame(onFrame);
  };
  requestAnimationFrame(onFrame);
  return () => {
    isOver = true;
    return longest;
  };
}

/**
 * Collects garbage. Resolves when the page has been notified. Young objects go first: browsers then drop DOM objects
 * that they can recreate, although what these stand for is still used.
 */
export async function collectGarbage(page: Page): Promise<void> {
  const told = await page.evaluateHandle(() => {
    for (let garbage: unknown, count = 0; count < 3e6; count++) garbage = [garbage === count];
    let tell: () => void;
    const promise = new Promise<void>((resolve) => {
      tell = resolve;
    });
    const registry = new FinalizationRegistry(() => tell());
    registry.register({}, undefined);
    // It must live itself.
    return { promise, registry };
  });
  await heapBytes(page);
  await told.evaluate(({ promise }) => promise);
  await told.dispose();
}

/** Bytes that the page holds for its scripts, after a collection. */
export async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  try {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize = 0 } = (await session.send("Runtime.getHeapUsage")) as {
      usedSize: number;
      backingStorageSize?: number;
    };
    return usedSize + backingStorageSize;
  } finally {
    await session.detach();
  }
}
