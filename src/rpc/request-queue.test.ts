import { describe, expect, it } from "vitest";
import { createDeferred, type Deferred } from "../base/deferred.ts";
import { RequestQueue } from "./request-queue.ts";

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("RequestQueue", () => {
  it("runs requests in order and waits for each, with a concurrency of 1", async () => {
    const queue = new RequestQueue(1, () => true);
    const first = createDeferred<void>();
    const started: string[] = [];
    queue.submit(() => (started.push("first"), first.promise), "ordinary");
    queue.submit(() => void started.push("second"), "control");
    queue.submit(() => void started.push("third"), "ordinary");
    expect(started).toEqual(["first"]);
    first.resolve();
    await settled();
    expect(started).toEqual(["first", "second", "third"]);
  });

  it("runs as many at once as it may, and control requests beside them", async () => {
    const queue = new RequestQueue(2, () => true);
    const running: Deferred<void>[] = [];
    const block = (): Promise<void> => {
      const work = createDeferred<void>();
      running.push(work);
      return work.promise;
    };
    for (let count = 0; count < 3; count += 1) queue.submit(block, "ordinary");
    expect(running).toHaveLength(2);
    let control = false;
    queue.submit(() => {
      control = true;
      return undefined;
    }, "control");
    expect(control).toBe(true);
    running[0]?.resolve();
    await settled();
    expect(running).toHaveLength(3);
  });

  it("lets urgent requests pass those that wait, in their order, and nothing pass them", () => {
    let mayStart = true;
    const queue = new RequestQueue(1, () => mayStart);
    const started: string[] = [];
    const submit = (name: string, lane: "ordinary" | "urgent") =>
      queue.submit(() => void started.push(name), lane);
    queue.submit(() => createDeferred<void>().promise, "ordinary");
    expect(queue.isFree).toBe(false);
    submit("ordinary", "ordinary");
    submit("urgent 1", "urgent");
    expect(started).toEqual(["urgent 1"]);
    mayStart = false;
    submit("urgent 2", "urgent");
    submit("urgent 3", "urgent");
    mayStart = true;
    submit("ordinary 2", "ordinary");
    expect(started).toEqual(["urgent 1", "urgent 2", "urgent 3"]);
  });

  it("starts nothing while it may not, and continues where it stopped", () => {
    let mayStart = true;
    const queue = new RequestQueue(1, () => mayStart);
    const started: number[] = [];
    queue.submit(() => {
      started.push(1);
      mayStart = false;
      return undefined;
    }, "ordinary");
    queue.submit(() => void started.push(2), "ordinary");
    expect(started).toEqual([1]);
    mayStart = true;
    queue.resume();
    expect(started).toEqual([1, 2]);
  });

  it("continues in every lane, the urgent requests first", () => {
    let mayStart = false;
    const queue = new RequestQueue(2, () => mayStart);
    const started: string[] = [];
    for (const lane of ["ordinary", "control", "urgent"] as const)
      queue.submit(() => void started.push(lane), lane);
    expect(started).toEqual([]);
    mayStart = true;
    queue.resume();
    expect(started).toEqual(["urgent", "control", "ordinary"]);
  });

  it("frees one place for each request that ends", async () => {
    const queue = new RequestQueue(2, () => true);
    const running: Deferred<void>[] = [];
    const block = (): Promise<void> => {
      const work = createDeferred<void>();
      running.push(work);
      return work.promise;
    };
    for (let count = 0; count < 6; count += 1) queue.submit(block, "ordinary");
    for (const [index, started] of [3, 4, 5, 6].entries()) {
      running[index]!.resolve();
      await settled();
      expect(running).toHaveLength(started);
    }
  });

  it("is free only if a request would start at once", async () => {
    let mayStart = true;
    const queue = new RequestQueue(1, () => mayStart);
    expect(queue.isFree).toBe(true);
    mayStart = false;
    expect(queue.isFree).toBe(false);
    queue.submit(() => undefined, "urgent");
    mayStart = true;
    expect(queue.isFree).toBe(false);
    queue.resume();
    expect(queue.isFree).toBe(true);
    const work = createDeferred<void>();
    queue.submit(() => work.promise, "ordinary");
    expect(queue.isFree).toBe(false);
    work.resolve();
    await settled();
    expect(queue.isFree).toBe(true);
  });

  it("keeps the order of requests that could start at once behind others that wait", () => {
    let mayStart = false;
    const queue = new RequestQueue(2, () => mayStart);
    const started: number[] = [];
    queue.submit(() => void started.push(1), "ordinary");
    mayStart = true;
    queue.submit(() => void started.push(2), "ordinary");
    expect(started).toEqual([1, 2]);
  });

  it("starts nothing that was queued before it was cleared", () => {
    let mayStart = false;
    const queue = new RequestQueue(2, () => mayStart);
    const started: string[] = [];
    for (const lane of ["urgent", "control", "ordinary"] as const)
      queue.submit(() => void started.push(lane), lane);
    queue.clear();
    mayStart = true;
    queue.resume();
    expect(started).toEqual([]);
  });
});
