import { Fifo } from "../base/fifo.ts";

/** Does one request. A promise keeps its place in the lane until it settles; it must not reject. */
export type Task = () => Promise<void> | undefined;

/**
 * Decides when requests of one connection run. With a concurrency of 1 they run in the order they came, so that a client that pipelines sees what
 * it would have seen one by one. With more, up to that many run at once, and control requests have a lane of their own.
 */
export class RequestQueue {
  readonly #ordinary: Lane;
  readonly #control: Lane;

  /** Nothing starts while `mayStart` says no; call `resume` when that has changed. */
  constructor(concurrency: number, mayStart: () => boolean) {
    this.#ordinary = new Lane(concurrency, mayStart);
    this.#control = concurrency > 1 ? new Lane(concurrency, mayStart) : this.#ordinary;
  }

  submit(task: Task, lane: "ordinary" | "control"): void {
    (lane === "control" ? this.#control : this.#ordinary).submit(task);
  }

  resume(): void {
    this.#control.run();
    this.#ordinary.run();
  }

  clear(): void {
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

  submit(task: Task): void {
    if (this.#queue.size === 0 && this.#permits > 0 && this.#mayStart()) {
      this.#start(task);
      return;
    }
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
