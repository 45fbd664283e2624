import { Fifo } from "../base/fifo.ts";

/** Runs one request. A returned promise occupies a slot of the lane until it settles; it must not reject. */
export type Task = () => Promise<void> | undefined;

type LaneName = "urgent" | "control" | "ordinary";

/**
 * Schedules the requests of one connection. With a concurrency of 1 they run in order of arrival, so a pipelining
 * client sees the same results as one that waits for each answer. With more, up to that many run at once, and control
 * requests have a lane of their own. Urgent requests pass everything that is queued.
 */
export class RequestQueue {
  /** The first goes first. */
  readonly #lanes: Readonly<Record<LaneName, Lane>>;

  /** Nothing starts while `mayStart` returns false; call `resume` when that changes. */
  constructor(concurrency: number, mayStart: () => boolean) {
    const ordinary = new Lane(concurrency, mayStart);
    const control = concurrency > 1 ? new Lane(concurrency, mayStart) : ordinary;
    this.#lanes = { urgent: new Lane(concurrency, mayStart), control, ordinary };
  }

  /** True if an ordinary request would start at once. */
  get isFree(): boolean {
    return this.#lanes.urgent.isEmpty && this.#lanes.ordinary.isFree;
  }

  submit(task: Task, lane: LaneName): void {
    // Urgent requests that can start now go first.
    if (lane !== "urgent") this.#lanes.urgent.run();
    this.#lanes[lane].submit(task);
  }

  resume(): void {
    for (const lane of Object.values(this.#lanes)) lane.run();
  }

  clear(): void {
    for (const lane of Object.values(this.#lanes)) lane.clear();
  }
}

class Lane {
  readonly #mayStart: () => boolean;
  readonly #queue = new Fifo<Task>();
  #permits: number;

  constructor(permits: number, mayStart: () => boolean) {
    this.#permits = permits;
    this.#mayStart = mayStart;
  }

  get isEmpty(): boolean {
    return this.#queue.size === 0;
  }

  get isFree(): boolean {
    return this.#queue.size === 0 && this.#permits > 0 && this.#mayStart();
  }

  submit(task: Task): void {
    this.#queue.push(task);
    this.run();
  }

  run(): void {
    while (this.#permits > 0 && this.#queue.size > 0 && this.#mayStart()) this.#start(this.#queue.shift()!);
  }

  clear(): void {
    this.#queue.clear();
  }

  #start(task: Task): void {
    const pending = task();
    if (pending === undefined) return;
    this.#permits -= 1;
    void pending.then(() => {
      this.#permits += 1;
      this.run();
    });
  }
}
