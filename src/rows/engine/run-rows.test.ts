import { describe, expect, it } from "vitest";
import { createDeferred } from "../../base/deferred.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import type { RowAttempt, RowItem, RowOutcome, RowRecord } from "./row.ts";
import { runRows } from "./run-rows.ts";

function* items(count: number): Generator<RowItem> {
  for (let index = 0; index < count; index += 1) yield { index, id: `row-${index + 1}`, values: {} };
}

const DONE: RowOutcome = { status: "completed" };
const failed = (retry: boolean): RowOutcome => ({ status: "failed", error: "no", retry });
const aborted = ({ signal }: RowAttempt): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });

it("runs every row once, and at most so many at once", async () => {
  let running = 0;
  let most = 0;
  const seen: number[] = [];
  const summary = await runRows({
    rows: items(100),
    maxConcurrency: 7,
    run: async ({ item }) => {
      seen.push(item.index);
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return DONE;
    },
  });
  expect(seen).toEqual(Array.from({ length: 100 }, (_, index) => index));
  expect(most).toBe(7);
  expect(summary).toMatchObject({ end: "finished", rows: 100, completed: 100, failed: 0, ended: 100 });
});

it("reads no further ahead than it runs", async () => {
  let read = 0;
  const gate = createDeferred<void>();
  async function* source(): AsyncGenerator<RowItem> {
    for (const item of items(1000)) {
      read += 1;
      yield item;
    }
  }
  const running = runRows({
    rows: source(),
    maxConcurrency: 4,
    run: async () => {
      await gate.promise;
      return DONE;
    },
  });
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  expect(read).toBe(4);
  gate.resolve();
  await running;
  expect(read).toBe(1000);
});

describe("retries", () => {
  it("a row that failed is tried again, so many times", async () => {
    const attempts: number[] = [];
    const records: RowRecord[] = [];
    const summary = await runRows({
      rows: items(1),
      retries: 2,
      backoffMs: 1,
      run: async ({ attempt }) => {
        attempts.push(attempt);
        return failed(true);
      },
      onRecord: (_, record) => void records.push(record),
    });
    expect(attempts).toEqual([1, 2, 3]);
    expect(records).toMatchObject([{ status: "failed", attempts: 3, error: "no" }]);
    expect(summary).toMatchObject({ failed: 1, retries: 2, ended: 1 });
  });

  it("a row for which another attempt is useless is not tried again", async () => {
    const summary = await runRows({ rows: items(1), retries: 5, run: async () => failed(false) });
    expect(summary).toMatchObject({ failed: 1, retries: 0 });
  });

  it("others run while rows wait for their next attempt, and waiting rows are bounded", async () => {
    let first = 0;
    let again = 0;
    const summary = await runRows({
      rows: items(2000),
      maxConcurrency: 2,
      retries: 1,
      backoffMs: 20,
      run: async ({ attempt }) => {
        if (attempt === 1) first += 1;
        else again += 1;
        // Rows that wait, or run, or are being recorded.
        expect(first - again).toBeLessThanOrEqual(256 + 2 + 1);
        return attempt === 1 ? failed(true) : DONE;
      },
    });
    expect(summary).toMatchObject({ completed: 2000, retries: 2000 });
  });
});

describe("time", () => {
  it("an attempt that takes too long is aborted, and fails", async () => {
    const records: RowRecord[] = [];
    await runRows({
      rows: items(2),
      timeoutMs: 10,
      run: (attempt) => (attempt.item.index === 0 ? aborted(attempt) : Promise.resolve(DONE)),
      onRecord: (_, record) => void records.push(record),
    });
    expect(records.find(({ index }) => index === 0)).toMatchObject({
      status: "failed",
      error: "timed out after 10ms",
    });
    expect(records.find(({ index }) => index === 1)).toMatchObject({ status: "completed" });
  });

  it("a run that takes too long is given up", async () => {
    const ledger = new MemoryLedger();
    const summary = await runRows({
      rows: items(5),
      ledger,
      totalTimeoutMs: 10,
      maxConcurrency: 2,
      run: aborted,
    });
    expect(summary).toMatchObject({
      end: "stopped",
      reason: "the run took longer than 10ms",
      cancelled: 2,
      completed: 0,
    });
    expect(ledger.statusOf(0)).toBe("cancelled");
  });
});

describe("stopping", () => {
  it("after so many failures nothing more begins, and what runs is completed", async () => {
    const summary = await runRows({
      rows: items(100),
      maxConcurrency: 1,
      maxFailures: 3,
      run: async ({ item }) => (item.index % 2 === 0 ? failed(false) : DONE),
    });
    expect(summary).toMatchObject({ end: "stopped", reason: "3 rows have failed", failed: 3, rows: 100 });
    expect(summary.completed + summary.failed + summary.cancelled).toBe(100);
  });

  it("an attempt can cancel what has not begun", async () => {
    const summary = await runRows({
      rows: items(10),
      maxConcurrency: 2,
      run: async ({ item, stop }) => {
        if (item.index === 1) stop("found it");
        await new Promise(setImmediate);
        return DONE;
      },
    });
    expect(summary).toMatchObject({ end: "stopped", reason: "found it", completed: 2, cancelled: 8 });
  });

  it("an aborted run aborts its attempts, waits for them, and leaves the rest pending", async () => {
    const controller = new AbortController();
    const ledger = new MemoryLedger();
    let running = 0;
    const summary = await runRows({
      rows: items(10),
      ledger,
      maxConcurrency: 3,
      signal: controller.signal,
      run: async (attempt) => {
        running += 1;
        if (running === 3) controller.abort(new Error("Ctrl-C"));
        try {
          return await aborted(attempt);
        } finally {
          running -= 1;
        }
      },
    });
    expect(running).toBe(0);
    expect(summary).toMatchObject({ end: "interrupted", reason: "Ctrl-C", cancelled: 3 });
    expect([ledger.statusOf(0), ledger.attemptsOf(0), ledger.statusOf(3)]).toEqual([
      "cancelled",
      1,
      "pending",
    ]);
  });

  it("an error that is not a row's ends the run, and nothing is recorded about that attempt", async () => {
    const ledger = new MemoryLedger();
    const run = runRows({
      rows: items(10),
      ledger,
      maxConcurrency: 2,
      run: async (attempt) => {
        if (attempt.item.index === 1) throw new Error("the server is gone");
        return aborted(attempt);
      },
    });
    await expect(run).rejects.toThrow("the server is gone");
    expect([ledger.statusOf(0), ledger.statusOf(1), ledger.statusOf(2)]).toEqual([
      "running",
      "running",
      "pending",
    ]);
  });
});

describe("resuming", () => {
  async function interrupted(): Promise<MemoryLedger> {
    const ledger = new MemoryLedger();
    const [done, bad, running] = [...items(3)] as [RowItem, RowItem, RowItem];
    const record = { attempts: 1, completedAt: "", durationMs: 0 };
    await ledger.begin(done, 1);
    await ledger.settle(done, { ...record, index: 0, id: done.id, status: "completed" });
    await ledger.begin(bad, 1);
    await ledger.settle(bad, { ...record, index: 1, id: bad.id, status: "failed" });
    await ledger.begin(running, 1);
    return ledger;
  }

  it("only rows without a result run", async () => {
    const ran: string[] = [];
    const summary = await runRows({
      rows: items(4),
      ledger: await interrupted(),
      run: async ({ item, attempt }) => {
        ran.push(`${item.id}/${attempt}`);
        return DONE;
      },
    });
    expect(ran.sort()).toEqual(["row-3/2", "row-4/1"]);
    expect(summary).toMatchObject({ completed: 3, failed: 1, ended: 2, rows: 4 });
  });

  it("an attempt that still runs is taken over, with its number", async () => {
    const taken: string[] = [];
    const ran: string[] = [];
    await runRows({
      rows: items(4),
      ledger: await interrupted(),
      takeOver: async ({ item, attempt }) => {
        taken.push(`${item.id}/${attempt}`);
        return DONE;
      },
      run: async ({ item }) => {
        ran.push(item.id);
        return DONE;
      },
    });
    expect([taken, ran]).toEqual([["row-3/1"], ["row-4"]]);
  });

  it("without a rerun, an attempt of which nothing is left is lost", async () => {
    const ledger = await interrupted();
    const summary = await runRows({ rows: items(4), ledger, rerun: false, run: async () => DONE });
    expect(summary).toMatchObject({ lost: 1, completed: 2, failed: 1 });
    expect(ledger.statusOf(2)).toBe("lost");
  });

  it("only what failed or was lost runs, if that is asked for", async () => {
    const ran: string[] = [];
    const summary = await runRows({
      rows: items(4),
      ledger: await interrupted(),
      only: "failed",
      run: async ({ item, attempt }) => {
        ran.push(`${item.id}/${attempt}`);
        return DONE;
      },
    });
    expect(ran).toEqual(["row-2/2"]);
    expect(summary).toMatchObject({ completed: 2, failed: 0 });
  });
});

it("what follows a record happens after it", async () => {
  const steps: string[] = [];
  const ledger = new MemoryLedger();
  const settle = ledger.settle.bind(ledger);
  ledger.settle = async (...args) => {
    await settle(...args);
    await new Promise(setImmediate);
    steps.push("recorded");
  };
  await runRows({
    rows: items(1),
    ledger,
    run: async ({ afterRecord }) => {
      afterRecord(async () => void steps.push("tidied up"));
      return DONE;
    },
  });
  expect(steps).toEqual(["recorded", "tidied up"]);
});

it("begins so many rows at most, and leaves the others pending", async () => {
  const summary = await runRows({ rows: items(10), limit: 3, run: async () => DONE });
  expect(summary).toMatchObject({ end: "finished", completed: 3, rows: 10, cancelled: 0 });
});

it.each([
  [{ maxConcurrency: 0 }, "maxConcurrency must be a whole number of at least 1, not 0"],
  [{ maxConcurrency: 20_000 }, "maxConcurrency may be up to 10000, not 20000"],
  [{ retries: -1 }, "retries must be a whole number of at least 0, not -1"],
  [{ timeoutMs: Number.NaN }, "timeoutMs must be a number of milliseconds"],
])("refuses %j", async (options, message) => {
  await expect(runRows({ rows: [], run: async () => DONE, ...options })).rejects.toThrow(message);
});

class SlowLedger extends MemoryLedger {
  override async settle(item: RowItem, record: RowRecord): Promise<void> {
    for (let turns = 0; turns < 10; turns += 1) await new Promise(setImmediate);
    await super.settle(item, record);
  }
}

it("with one row at a time, none begins after the last failure that is allowed", async () => {
  const begun: number[] = [];
  const summary = await runRows({
    rows: items(5),
    ledger: new SlowLedger(),
    maxConcurrency: 1,
    maxFailures: 1,
    run: async ({ item }) => {
      begun.push(item.index);
      return failed(true);
    },
  });
  expect(begun).toEqual([0]);
  expect(summary).toMatchObject({ end: "stopped", failed: 1, cancelled: 4, reason: "1 row has failed" });
});

describe("what the caller gives", () => {
  it("a listener that throws ends the run with its error", async () => {
    const onProgress = (): void => {
      throw new Error("no screen");
    };
    await expect(runRows({ rows: items(3), run: async () => DONE, onProgress })).rejects.toThrow("no screen");
  });

  it("rows that never come do not keep an aborted run", async () => {
    const controller = new AbortController();
    let returned = false;
    const rows: AsyncIterable<RowItem> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          setImmediate(() => controller.abort(new Error("enough")));
          return new Promise(() => {});
        },
        return: () => {
          returned = true;
          return new Promise(() => {});
        },
      }),
    };
    const summary = await runRows({ rows, run: async () => DONE, signal: controller.signal });
    expect(summary).toMatchObject({ end: "interrupted", reason: "enough", rows: 0 });
    expect(returned).toBe(true);
  });

  it("another attempt does not wait for the next row", async () => {
    const again = createDeferred<void>();
    async function* source(): AsyncGenerator<RowItem> {
      yield* items(1);
      await again.promise;
    }
    const run = async ({ attempt }: RowAttempt): Promise<RowOutcome> => {
      if (attempt === 1) return failed(true);
      again.resolve();
      return DONE;
    };
    expect(await runRows({ rows: source(), run, retries: 1, backoffMs: 1 })).toMatchObject({ completed: 1 });
  });

  it("rows that cannot be read end the run with their error", async () => {
    async function* source(): AsyncGenerator<RowItem> {
      yield* items(2);
      throw new Error("bad disk");
    }
    await expect(runRows({ rows: source(), run: async () => DONE })).rejects.toThrow("bad disk");
  });

  it("an attempt without an outcome is an error of the program, and is not repeated", async () => {
    let runs = 0;
    const run = async (): Promise<RowOutcome> => {
      runs += 1;
      // After a while, so that the test ends if it is repeated.
      if (runs > 3) throw new Error("repeated");
      return undefined as unknown as RowOutcome;
    };
    await expect(runRows({ rows: items(1), run })).rejects.toThrow("run must resolve with an outcome");
    expect(runs).toBe(1);
  });
});

it("gives an attempt its time when it has begun, and reports why all of them wait", async () => {
  const waits: (string | undefined)[] = [];
  const room = createDeferred<void>();
  const summary = runRows({
    rows: items(2),
    timeoutMs: 50,
    run: async (attempt) => {
      attempt.waits("no room");
      await room.promise;
      attempt.waits(undefined);
      return attempt.item.index === 0 ? DONE : await aborted(attempt);
    },
    onProgress: ({ waiting }) => {
      waits.push(waiting);
      // Longer than the time that an attempt has.
      if (waiting !== undefined) setTimeout(() => room.resolve(), 200);
    },
  });
  expect(await summary).toMatchObject({ completed: 1, failed: 1 });
  expect(waits).toContain("no room");
  expect(waits.at(-1)).toBeUndefined();
});
