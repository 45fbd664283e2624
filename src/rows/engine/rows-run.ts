import { after, formatDuration } from "../../base/duration.ts";
import { ExecError, messageOf } from "../../base/errors.ts";
import { backoff, RetryQueue } from "./retry-queue.ts";
import type { RowItem, RowOutcome, RowRecord } from "./row.ts";
import { RowSource } from "./row-source.ts";
import { RowCounts, type RowsSummary } from "./rows-progress.ts";
import { RunningAttempt } from "./running-attempt.ts";
import type { RowsPlan } from "./rows-plan.ts";

/** How many rows may wait for another attempt, so that a file of failing rows is not read into memory. */
const MIN_WAITING = 256;
/** How many outcomes may wait for the disk. */
const MAX_UNRECORDED = 512;

/** An attempt that is to be made. */
interface Next {
  readonly item: RowItem;
  readonly attempt: number;
  readonly lastAttempt: number;
  /** True if an earlier run began this attempt. */
  readonly isBegun?: boolean;
}

/** One run over the rows of a job. */
export class RowsRun {
  readonly #plan: RowsPlan;
  readonly #counts = new RowCounts();
  readonly #retries = new RetryQueue();
  readonly #running = new Set<RunningAttempt>();
  readonly #source: RowSource;
  readonly #maxWaiting: number;
  /** Outcomes that are being recorded. */
  #unrecorded = 0;
  #begun = 0;
  /** Rows that failed for good, recorded or not. */
  #failures = 0;
  /** Why nothing more begins. */
  #stopReason: string | undefined;
  /** Why everything is given up. */
  #abortReason: unknown;
  #isAborted = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(plan: RowsPlan) {
    this.#plan = plan;
    this.#source = new RowSource(plan.rows, {
      onRead: () => this.#changed(),
      onError: (error) => this.#fail(error),
    });
    this.#maxWaiting = Math.max(MIN_WAITING, plan.maxConcurrency);
  }

  async run(): Promise<RowsSummary> {
    const startedAt = performance.now();
    const { signal, totalTimeoutMs, ledger } = this.#plan;
    const interrupt = (): void => this.#abort(signal?.reason);
    if (signal?.aborted === true) interrupt();
    signal?.addEventListener("abort", interrupt, { once: true });
    const cancelTimeout = after(totalTimeoutMs, () => {
      this.#stop(`the run took longer than ${formatDuration(totalTimeoutMs)}`);
      this.#abort(new ExecError("TIMED_OUT", this.#stopReason!));
    });
    try {
      await this.#pump();
    } catch (error) {
      this.#fail(error);
    } finally {
      await this.#settled();
      cancelTimeout();
      signal?.removeEventListener("abort", interrupt);
      await this.#source.close();
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#stopReason !== undefined) await ledger.stop(this.#stopReason);
    const end =
      this.#stopReason === undefined ? (this.#isAborted ? "interrupted" : "finished") : ("stopped" as const);
    const reason = this.#stopReason ?? (this.#isAborted ? messageOf(this.#abortReason) : undefined);
    return {
      ...this.#counts.progress(),
      jobId: ledger.jobId,
      end,
      ...(reason === undefined ? {} : { reason }),
      durationMs: performance.now() - startedAt,
    };
  }

  /** Begins one attempt after the other, as long as there are any. */
  async #pump(): Promise<void> {
    const { maxConcurrency } = this.#plan;
    const [source, retries] = [this.#source, this.#retries];
    while (!this.#isAborted) {
      if (this.#running.size >= maxConcurrency || this.#unrecorded >= MAX_UNRECORDED) {
        await this.#change();
        continue;
      }
      const next = retries.takeDue(performance.now()) ?? this.#nextOf(source.take());
      if (next !== undefined) this.#begin(next);
      else if (source.isIdle && retries.size < this.#maxWaiting) source.ask();
      else if (source.isReading || retries.size > 0 || this.#running.size > 0 || this.#unrecorded > 0)
        await this.#change();
      else return;
    }
  }

  /** The first attempt at a row that was read. Undefined if it does not run. */
  #nextOf(item: RowItem | undefined): Next | undefined {
    if (item === undefined) return undefined;
    this.#counts.rows += 1;
    const { ledger, only, retries, limit } = this.#plan;
    const status = ledger.statusOf(item.index);
    const isFailed = status === "failed" || status === "lost";
    const runs = only === "failed" ? isFailed : !isFailed && status !== "completed";
    if (!runs) {
      this.#counts.add(status);
      if (status === "failed") this.#failures += 1;
      return undefined;
    }
    if (this.#stopReason !== undefined) {
      this.#counts.add("cancelled");
      return undefined;
    }
    if (this.#begun >= limit) return undefined;
    this.#begun += 1;
    const isBegun = status === "running";
    const attempt = ledger.attemptsOf(item.index) + (isBegun ? 0 : 1);
    return { item, attempt, lastAttempt: attempt + retries, isBegun };
  }

  #begin(next: Next): void {
    const running = new RunningAttempt(this.#plan, next.item, next.attempt, (reason) => this.#stop(reason));
    this.#running.add(running);
    this.#counts.running = this.#running.size;
    void this.#attempt(running, next);
    this.#tell();
  }

  async #attempt(running: RunningAttempt, next: Next): Promise<void> {
    const { ledger } = this.#plan;
    const { item, attempt } = next;
    let outcome: RowOutcome | undefined;
    try {
      if (next.isBegun !== true) await ledger.begin(item, attempt);
      outcome =
        this.#isAborted && next.isBegun !== true ? undefined : await running.run(next.isBegun === true);
    } catch (error) {
      if (!running.isAborted) this.#fail(error);
      else if (this.#failure === undefined) outcome = running.lateOutcome();
    } finally {
      this.#noteFailure(next, outcome);
      this.#running.delete(running);
      this.#counts.running = this.#running.size;
      this.#unrecorded += 1;
      this.#changed();
    }
    try {
      if (this.#failure === undefined || outcome !== undefined) await this.#record(running, next, outcome);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#unrecorded -= 1;
      this.#changed();
    }
  }

  /** Decides what follows from the end of an attempt. Without an outcome nothing is known of it. */
  async #record(running: RunningAttempt, next: Next, outcome: RowOutcome | undefined): Promise<void> {
    const { ledger, rerun, backoffMs, maxBackoffMs } = this.#plan;
    const { item, attempt, lastAttempt } = next;
    if (outcome === undefined) {
      if (this.#isAborted) await this.#end(item, running.record("cancelled", { error: this.#abortText() }));
      else if (rerun)
        this.#retries.add({ item, attempt: attempt + 1, lastAttempt: lastAttempt + 1, dueAt: 0 });
      else await this.#end(item, running.record("lost", { error: LOST }));
      return;
    }
    if (outcome.status === "failed" && this.#isTriedAgain(next, outcome)) {
      const dueAt =
        performance.now() +
        backoff(attempt + 1 - (lastAttempt - this.#plan.retries), backoffMs, maxBackoffMs);
      this.#counts.retries += 1;
      await ledger.retry(item, attempt, outcome.error);
      this.#retries.add({ item, attempt: attempt + 1, lastAttempt, dueAt });
      await running.recorded();
      return;
    }
    const isGivenUp = this.#isAborted && outcome.status === "failed";
    const { status, ...facts } = outcome;
    await this.#end(item, running.record(isGivenUp ? "cancelled" : status, facts));
    await running.recorded();
  }

  #isTriedAgain({ attempt, lastAttempt }: Next, { retry }: { readonly retry: boolean }): boolean {
    return retry && attempt < lastAttempt && !this.#isAborted;
  }

  /** Before it is recorded, so that no row takes the place of the last one that may fail. */
  #noteFailure(next: Next, outcome: RowOutcome | undefined): void {
    if (outcome?.status !== "failed" || this.#isAborted || this.#isTriedAgain(next, outcome)) return;
    const { maxFailures } = this.#plan;
    this.#failures += 1;
    if (this.#failures >= maxFailures)
      this.#stop(`${maxFailures} ${maxFailures === 1 ? "row has" : "rows have"} failed`);
  }

  async #end(item: RowItem, record: RowRecord): Promise<void> {
    const { ledger, onRecord } = this.#plan;
    await ledger.settle(item, record);
    this.#counts.add(record.status);
    this.#counts.ended += 1;
    this.#tell();
    await onRecord?.(item, record);
  }

  /** Nothing more begins. */
  #stop(reason: string): void {
    this.#stopReason ??= reason;
    this.#changed();
  }

  /** Everything is given up. */
  #abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#abortReason = reason;
    for (const running of this.#running) running.abort(reason);
    this.#changed();
  }

  /** Something went wrong that is not the fault of a row. */
  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#abort(error);
  }

  #abortText(): string {
    return `given up: ${messageOf(this.#abortReason)}`;
  }

  /** Resolves when nothing runs any more and everything is recorded. */
  async #settled(): Promise<void> {
    while (this.#running.size > 0 || this.#unrecorded > 0) await this.#change();
  }

  /** Resolves when an attempt has ended, a retry is due, or the run is stopped. */
  async #change(): Promise<void> {
    const { dueAt } = this.#retries;
    await new Promise<void>((resolve) => {
      const waits = dueAt === undefined || this.#isAborted || this.#running.size >= this.#plan.maxConcurrency;
      const cancel = waits ? undefined : after(Math.max(dueAt - performance.now(), 0), resolve);
      this.#wake = () => {
        cancel?.();
        resolve();
      };
    });
    this.#wake = undefined;
  }

  #changed(): void {
    this.#wake?.();
  }

  #tell(): void {
    this.#plan.onProgress?.(this.#counts.progress());
  }
}

const LOST = "it was running when an earlier run was killed, and nothing is left of it";
