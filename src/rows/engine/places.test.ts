import { expect, test } from "vitest";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import type { Places } from "./places.ts";
import type { RowAttempt, RowItem, RowOutcome, RowRecord } from "./row.ts";
import type { RowsProgress, RowsSummary } from "./rows-progress.ts";
import { runRows } from "./run-rows.ts";
import type { RunRowsOptions } from "./rows-plan.ts";

/** Places with slots that a test takes away and gives back. */
class FakePlaces implements Places {
  readonly #slots = new Map<string, number>();
  readonly #taken = new Map<string, number>();
  readonly #watchers = new Set<() => void>();
  /** Thrown by the next look for a free slot. */
  fault: Error | undefined;
  reason = "all full";

  constructor(slots: Readonly<Record<string, number>>) {
    for (const [place, count] of Object.entries(slots)) this.#slots.set(place, count);
  }

  get count(): number {
    return this.#slots.size;
  }

  get waiting(): string {
    return this.reason;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  takenAt(place: string): number {
    return this.#taken.get(place) ?? 0;
  }

  take(): string | undefined {
    if (this.fault !== undefined) throw this.fault;
    for (const [place, slots] of this.#slots) {
      if (this.takenAt(place) >= slots) continue;
      this.occupy(place);
      return place;
    }
    return undefined;
  }

  occupy(place: string): void {
    this.#taken.set(place, this.takenAt(place) + 1);
  }

  release(place: string): void {
    this.#taken.set(place, this.takenAt(place) - 1);
    this.changed();
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }

  /** A place joins, or has another number of slots. */
  set(place: string, slots: number): void {
    this.#slots.set(place, slots);
    this.changed();
  }

  vanish(place: string): void {
    this.#slots.delete(place);
    this.changed();
  }

  changed(): void {
    for (const watcher of this.#watchers) watcher();
  }
}

/** One attempt that a test ends. */
interface Begun {
  readonly attempt: RowAttempt;
  readonly outcome: Deferred<RowOutcome>;
}

/** A run whose attempts end when the test says so. */
class Scene {
  readonly places: FakePlaces;
  readonly begun: Begun[] = [];
  readonly records: RowRecord[] = [];
  readonly progress: RowsProgress[] = [];
  readonly ended: Promise<RowsSummary>;

  constructor(slots: Readonly<Record<string, number>>, rows: number, options: Partial<RunRowsOptions> = {}) {
    this.places = new FakePlaces(slots);
    this.ended = runRows({
      rows: items(rows),
      places: this.places,
      run: (attempt) => {
        const outcome = createDeferred<RowOutcome>();
        this.begun.push({ attempt, outcome });
        return outcome.promise;
      },
      onRecord: (_, record) => void this.records.push(record),
      onProgress: (now) => void this.progress.push(now),
      ...options,
    });
    // Tests look at it when they expect it to have failed.
    this.ended.catch(() => {});
  }

  /** What has begun so far, as `row attempt place`. */
  async attempts(): Promise<string[]> {
    await idle();
    return this.begun.map(({ attempt: { item, attempt, place } }) => `${item.id} ${attempt} ${place}`);
  }

  end(at: number, outcome: RowOutcome): void {
    this.begun[at]!.outcome.resolve(outcome);
  }
}

/** Everything that can happen without an event from outside has happened. */
async function idle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
}

function* items(count: number): Generator<RowItem> {
  for (let index = 0; index < count; index += 1) yield { index, id: `row-${index + 1}`, values: {} };
}

const DONE: RowOutcome = { status: "completed" };
const lost = (isBegun: boolean): RowOutcome => ({ status: "lost", error: "a: it was lost", isBegun });

test("attempts begin where slots are free, and no more of them than there are", async () => {
  const scene = new Scene({ a: 1, b: 2 }, 5);
  expect(await scene.attempts()).toEqual(["row-1 1 a", "row-2 1 b", "row-3 1 b"]);
  scene.end(1, DONE);
  expect((await scene.attempts()).at(-1)).toBe("row-4 1 b");
  scene.places.set("c", 1);
  expect((await scene.attempts()).at(-1)).toBe("row-5 1 c");
  for (const at of [0, 2, 3, 4]) scene.end(at, DONE);
  expect(await scene.ended).toMatchObject({ completed: 5, moved: 0, retries: 0, places: 3 });
  expect(["a", "b", "c"].map((place) => scene.places.takenAt(place))).toEqual([0, 0, 0]);
  expect(scene.places.watchers).toBe(0);
});

test("a row whose place vanishes runs elsewhere, which is no retry", async () => {
  const scene = new Scene({ a: 1 }, 1);
  expect(await scene.attempts()).toEqual(["row-1 1 a"]);
  scene.places.vanish("a");
  scene.places.set("b", 1);
  scene.end(0, lost(true));
  expect(await scene.attempts()).toEqual(["row-1 1 a", "row-1 2 b"]);
  scene.end(1, DONE);
  expect(await scene.ended).toMatchObject({ completed: 1, moved: 1, retries: 0 });
  expect(scene.records).toMatchObject([{ id: "row-1", status: "completed", attempts: 2 }]);
});

test("without reruns such a row is lost, unless it is certain that it has not begun", async () => {
  const scene = new Scene({ a: 2 }, 2, { rerun: false });
  expect(await scene.attempts()).toEqual(["row-1 1 a", "row-2 1 a"]);
  scene.end(0, lost(true));
  scene.end(1, lost(false));
  expect((await scene.attempts()).at(-1)).toBe("row-2 2 a");
  scene.end(2, DONE);
  expect(await scene.ended).toMatchObject({ completed: 1, lost: 1, moved: 1 });
});

test("while no place has a free slot, nothing is read ahead, and the reason is reported once", async () => {
  let read = 0;
  const rows = (function* (): Generator<RowItem> {
    for (const item of items(100)) {
      read += 1;
      yield item;
    }
  })();
  const scene = new Scene({ a: 0 }, 0, { rows });
  const waits = (): (string | undefined)[] => scene.progress.map(({ waiting }) => waiting);
  expect(await scene.attempts()).toEqual([]);
  for (let look = 0; look < 5; look += 1) scene.places.changed();
  await idle();
  expect([read, waits()]).toEqual([1, ["all full"]]);
  scene.places.reason = "all cordoned";
  scene.places.changed();
  await idle();
  expect(waits()).toEqual(["all full", "all cordoned"]);
  scene.places.set("a", 1);
  expect(await scene.attempts()).toEqual(["row-1 1 a"]);
  // One that runs takes the only slot, which is nothing to report.
  expect(waits()).toEqual(["all full", "all cordoned", undefined]);
  for (let at = 0; at < 100; at += 1) {
    await scene.attempts();
    scene.end(at, DONE);
  }
  expect(await scene.ended).toMatchObject({ completed: 100 });
  expect(
    waits()
      .slice(2)
      .every((waiting) => waiting === undefined),
  ).toBe(true);
});

test("a run whose places are all gone waits, and continues when they are back", async () => {
  const scene = new Scene({ a: 1, b: 1 }, 3);
  await scene.attempts();
  scene.places.vanish("a");
  scene.places.vanish("b");
  scene.end(0, lost(true));
  scene.end(1, lost(false));
  expect(await scene.attempts()).toHaveLength(2);
  expect(scene.progress.at(-1)).toMatchObject({ running: 0, places: 0, waiting: "all full" });
  scene.places.set("b", 3);
  // Rows that are tried again come before those that have not begun.
  expect((await scene.attempts()).slice(2).sort()).toEqual(["row-1 2 b", "row-2 2 b", "row-3 1 b"]);
  for (const at of [2, 3, 4]) scene.end(at, DONE);
  expect(await scene.ended).toMatchObject({ end: "finished", completed: 3, moved: 2 });
});

test("a run whose places can never have room fails with their reason, and completes what runs", async () => {
  const scene = new Scene({ a: 1 }, 2);
  expect(await scene.attempts()).toHaveLength(1);
  scene.places.fault = new Error("none takes rows");
  scene.places.vanish("a");
  await idle();
  expect(scene.begun[0]!.attempt.signal.aborted).toBe(true);
  scene.end(0, DONE);
  await expect(scene.ended).rejects.toThrow("none takes rows");
  // What ended meanwhile counts: a resumed run does not repeat it.
  expect(scene.records).toMatchObject([{ id: "row-1", status: "completed" }]);
});

test("a run that is given up while it waits ends, and its rows are not begun", async () => {
  const stopping = new AbortController();
  const scene = new Scene({}, 2, { signal: stopping.signal });
  expect(await scene.attempts()).toEqual([]);
  stopping.abort(new Error("enough"));
  const summary = await scene.ended;
  expect(summary).toMatchObject({ end: "interrupted", reason: "enough", completed: 0, running: 0 });
  expect(summary).not.toHaveProperty("waiting");
  expect([scene.begun, scene.records]).toEqual([[], []]);
});

test("the loss of an attempt is on disk before the next one begins, so a late result has no attempt to belong to", async () => {
  const disk = createDeferred<void>();
  const records: string[] = [];
  const ledger = Object.assign(new MemoryLedger(), {
    begin: async (item: RowItem, attempt: number, place?: string) =>
      void records.push(`begin ${item.id} ${attempt} ${place}`),
    retry: async (item: RowItem, attempt: number, error: string, isLost = false) => {
      await disk.promise;
      records.push(`${isLost ? "lost" : "failed"} ${item.id} ${attempt} ${error}`);
    },
  });
  const scene = new Scene({ a: 1, b: 1 }, 1, { ledger });
  await scene.attempts();
  scene.end(0, lost(true));
  expect(await scene.attempts()).toEqual(["row-1 1 a"]);
  // Its slot is free meanwhile: others need not wait for the disk.
  expect(scene.places.takenAt("a")).toBe(0);
  disk.resolve();
  expect(await scene.attempts()).toEqual(["row-1 1 a", "row-1 2 a"]);
  // The first attempt has settled: whatever its place still does, only the second one can end the row.
  scene.end(0, { status: "completed", result: "late" });
  await idle();
  expect(scene.records).toEqual([]);
  scene.end(1, { status: "completed", result: "second" });
  await scene.ended;
  expect(scene.records).toMatchObject([{ status: "completed", attempts: 2, result: "second" }]);
  expect(records).toEqual(["begin row-1 1 a", "lost row-1 1 a: it was lost", "begin row-1 2 a"]);
});

test("an attempt of an earlier run takes a slot where it was begun, whether one is free or not", async () => {
  const ledger = new MemoryLedger();
  const [item] = items(1);
  await ledger.begin(item!, 1);
  const scene = new Scene({ a: 0 }, 2, {
    ledger: Object.assign(ledger, { placeOf: () => "a" }),
    takeOver: async () => {
      await idle();
      expect(scene.places.takenAt("a")).toBe(1);
      return DONE;
    },
  });
  expect(await scene.attempts()).toEqual([]);
  expect(scene.places.takenAt("a")).toBe(0);
  expect(scene.progress.at(-1)).toMatchObject({ completed: 1, waiting: "all full" });
  scene.places.set("b", 1);
  expect(await scene.attempts()).toEqual(["row-2 1 b"]);
  scene.end(0, DONE);
  expect(await scene.ended).toMatchObject({ completed: 2, moved: 0 });
});
