import { Fifo } from "../base/fifo.ts";

/** Runs one request. A returned promise occupies a slot of the lane until it settles; it must not reject. */
export type Task = () => Promise<void> | undefined;

export type LaneName = "urgent" | "control" | "ordinary";

/**
 * Schedules the requests of one connection. With a concurrency of 1 they run in order of arrival, so a pipelining
 * client sees the same results as one that waits for each answer. With more, up to that many run at once, and control
 * requests have a lane of their own. Urgent requests pass everything that is queued.
 */
export class RequestQueue {
  readonly #ordinary: Lane;
  readonly #control: Lane;
  readonly #urgent: Lane;

  /** Nothing starts while `mayStart` returns false; call `resume` when that changes. */
  constructor(concurrency: number, mayStart: () => boolean) {
    this.#ordinary = new Lane(concurrency, mayStart);
    this.#control = concurrency > 1 ? new Lane(concurrency, mayStart) : this.#ordinary;
    this.#urgent = new Lane(concurrency, mayStart);
  }

  /** True if an ordinary request would start at once. */
  get isFree(): boolean {
    return this.#urgent.isEmpty && this.#ordinary.isFree;
  }

  submit(task: Task, lane: LaneName): void {
    // Urgent requests that can start now go first.
    if (lane !== "urgent") this.#urgent.run();
    (lane === "urgent" ? this.#urgent : lane === "control" ? this.#control : this.#ordinary).submit(task);
  }

  resume(): void {
    this.#urgent.run();
    this.#control.run();
    this.#ordinary.run();
  }

  clear(): void {
    this.#urgent.clear();
    this.#control.clear();
    this.#ordinary.clear();
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
