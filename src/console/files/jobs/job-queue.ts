import { anySignal } from "../../../base/deadlines.ts";
import { effect, signal } from "@preact/signals";

export type JobState = "waiting" | "running" | "done" | "failed" | "stopped";

export interface JobProgress {
  readonly value: number;
  /** Undefined while it is not known how much there is. */
  readonly max: number | undefined;
  /** `bytes` has a speed; things are counted. */
  readonly unit: "bytes" | "items";
}

/** Something that takes a while, and can be stopped. */
export class Job {
  readonly id: number;
  readonly title: string;
  /** Not listed any more when it is done. */
  readonly isBrief: boolean;
  readonly state = signal<JobState>("waiting");
  readonly progress = signal<JobProgress>({ value: 0, max: undefined, unit: "items" });
  /** Per second. */
  readonly speed = signal(0);
  readonly error = signal<unknown>(undefined);
  readonly #stopping = new AbortController();
  readonly #work: (job: Job) => Promise<void>;
  readonly #samples: { readonly atMs: number; readonly value: number }[] = [];

  constructor(id: number, title: string, work: (job: Job) => Promise<void>, isBrief: boolean) {
    this.id = id;
    this.title = title;
    this.isBrief = isBrief;
    this.#work = work;
  }

  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  get isOver(): boolean {
    return this.state.value !== "waiting" && this.state.value !== "running";
  }

  stop(): void {
    this.#stopping.abort();
    if (this.state.value === "waiting") this.state.value = "stopped";
  }

  report(progress: JobProgress, nowMs = Date.now()): void {
    this.progress.value = progress;
    const samples = this.#samples;
    if (samples.length === 0 || nowMs - samples.at(-1)!.atMs >= SAMPLE_MS)
      samples.push({ atMs: nowMs, value: progress.value });
    if (samples.length > SAMPLES) samples.shift();
    const first = samples[0]!;
    const elapsedMs = nowMs - first.atMs;
    if (elapsedMs > 0) this.speed.value = Math.max(0, ((progress.value - first.value) / elapsedMs) * 1000);
  }

  /** Never rejects: a failure becomes its state. */
  async run(): Promise<void> {
    this.state.value = "running";
    try {
      await this.#work(this);
      this.state.value = "done";
    } catch (error) {
      this.error.value = error;
      this.state.value = this.signal.aborted ? "stopped" : "failed";
    }
  }
}

const SAMPLE_MS = 250;
const SAMPLES = 12;

/** Runs a few jobs at a time, in their order. */
export class JobQueue {
  /** The latest last. */
  readonly jobs = signal<readonly Job[]>([]);
  readonly #atOnce: number;
  #running = 0;
  #lastId = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  add(title: string, work: (job: Job) => Promise<void>, { isBrief = false } = {}): Job {
    this.#lastId++;
    const job = new Job(this.#lastId, title, work, isBrief);
    const over = this.jobs.value.filter(({ isOver }) => isOver).slice(0, -MAX_ENDED);
    this.jobs.value = [...this.jobs.value.filter((other) => !over.includes(other)), job];
    this.#next();
    return job;
  }

  /** Removes a job that is over from the list. */
  dismiss(job: Job): void {
    if (job.isOver) this.jobs.value = this.jobs.value.filter((other) => other !== job);
  }

  #next(): void {
    while (this.#running < this.#atOnce) {
      const job = this.jobs.value.find(({ state }) => state.value === "waiting");
      if (job === undefined) return;
      this.#running++;
      void job.run().then(() => {
        this.#running--;
        if (job.isBrief && job.state.value === "done") this.dismiss(job);
        this.#next();
      });
    }
  }
}

/** Maximum number of ended jobs to list. */
const MAX_ENDED = 5;

/** The jobs of the page, which continue while another view is shown. */
export const jobs = new JobQueue(3);

// The browser asks before it closes a page that is transferring something.
effect(() => {
  if (jobs.jobs.value.every(({ isOver }) => isOver)) return;
  const onUnload = (event: BeforeUnloadEvent): void => event.preventDefault();
  addEventListener("beforeunload", onUnload);
  return () => removeEventListener("beforeunload", onUnload);
});

/** Works on items, a few at a time. The first failure stops the others. */
export async function eachOf<T>(
  items: Iterable<T>,
  atOnce: number,
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failing = new AbortController();
  const either = anySignal([signal, failing.signal]);
  const iterator = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next()) {
      either.throwIfAborted();
      await work(next.value, either);
    }
  };
  const workers = Array.from({ length: atOnce }, () =>
    worker().catch((error: unknown) => {
      if (!failing.signal.aborted) failing.abort(error);
    }),
  );
  await Promise.all(workers);
  either.throwIfAborted();
}
