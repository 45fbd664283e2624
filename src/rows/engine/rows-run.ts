import { onAbort } from "../../base/deadlines.ts";
import { defined } from "../../base/defined.ts";
import { after, formatDuration } from "../../base/duration.ts";
import { ExecError, messageOf } from "../../base/errors.ts";
import { recorded } from "./record-error.ts";
import { backoff, type NextAttempt, RetryQueue } from "./retry-queue.ts";
import type { RowItem, RowOutcome, RowRecord, RowStatus } from "./row.ts";
import { RowSource } from "./row-source.ts";
import type { RowsProgress, RowsSummary } from "./rows-progress.ts";
import { RunningAttempt } from "./running-attempt.ts";
import type { RowsPlan } from "./rows-plan.ts";

/** Maximum number of rows waiting for another attempt, so that a file of failing rows is not read into memory. */
const MIN_WAITING = 256;
/** Maximum number of outcomes waiting for the disk. */
const MAX_UNRECORDED = 512;

interface Next extends NextAttempt {
  /** True if an earlier run began this attempt. */
  readonly isBegun?: boolean;
  /** True for the first attempt of this run. */
  readonly isFirst?: boolean;
  readonly place?: string;
}

/** One run over the rows of a job. */
export class RowsRun {
  readonly #plan: RowsPlan;
  readonly #counts = {
    rows: 0,
    running: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    lost: 0,
    retries: 0,
    moved: 0,
    ended: 0,
  };
  readonly #retries = new RetryQueue();
  readonly #running = new Set<RunningAttempt>();
  readonly #source: RowSource;
  readonly #maxWaiting: number;
  /** An attempt that waits for a free slot. */
  #held: Next | undefined;
  /** Why nothing runs, if that attempt is the only one. */
  #waiting: string | undefined;
  /** Outcomes that are being recorded. */
  #unrecorded = 0;
  #begun = 0;
  /** Rows that failed for good, recorded or not. */
  #failures = 0;
  /** Why nothing more begins. */
  #stopReason: string | undefined;
  /** Why the run was abandoned. */
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
    const { signal, totalTimeoutMs, ledger, places } = this.#plan;
    const unlink = onAbort(signal, (reason) => this.#abort(reason));
    const unwatch = places?.watch(() => this.#changed());
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
      unwatch?.();
      unlink();
      await this.#source.close();
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#stopReason !== undefined) await ledger.stop(this.#stopReason);
    const end =
      this.#stopReason === undefined ? (this.#isAborted ? "interrupted" : "finished") : ("stopped" as const);
    const reason = this.#stopReason ?? (this.#isAborted ? messageOf(this.#abortReason) : undefined);
    return {
      ...this.#progress(),
      jobId: ledger.jobId,
      end,
      ...defined({ reason }),
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
      const next = this.#takeHeld() ?? retries.takeDue(performance.now()) ?? this.#nextOf(source.take());
      if (next !== undefined) {
        const placed = this.#place(next);
        if (placed !== undefined) this.#begin(placed);
        else {
          this.#held = next;
          this.#reportWaiting();
          await this.#change();
        }
      } else if (source.isIdle && retries.size < this.#maxWaiting) source.ask();
      else if (source.isReading || retries.size > 0 || this.#running.size > 0 || this.#unrecorded > 0)
        await this.#change();
      else return;
    }
  }

  /** The attempt that waits for a slot. A row that has not begun does not wait once the run is stopped. */
  #takeHeld(): Next | undefined {
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined || this.#stopReason === undefined || held.isFirst !== true) return held;
    this.#counts.cancelled += 1;
    this.#waiting = undefined;
    return undefined;
  }

  /** Chooses the place of an attempt. Undefined without a free slot. */
  #place(next: Next): Next | undefined {
    const { places, ledger } = this.#plan;
    if (places === undefined) return next;
    if (next.isBegun !== true) {
      const place = places.take();
      return place === undefined ? undefined : { ...next, place };
    }
    const place = ledger.placeOf?.(next.item.index);
    if (place === undefined) return next;
    places.occupy(place);
    return { ...next, place };
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
      this.#count(status);
      if (status === "failed") this.#failures += 1;
      return undefined;
    }
    if (this.#stopReason !== undefined) {
      this.#counts.cancelled += 1;
      return undefined;
    }
    if (this.#begun >= limit) return undefined;
    this.#begun += 1;
    const isBegun = status === "running";
    const attempt = ledger.attemptsOf(item.index) + (isBegun ? 0 : 1);
    return { item, attempt, lastAttempt: attempt + retries, isBegun, isFirst: true };
  }

  #begin(next: Next): void {
    const running = new RunningAttempt(this.#plan, next, {
      stop: (reason) => this.#stop(reason),
      waits: () => this.#reportWaiting(),
    });
    this.#running.add(running);
    this.#waiting = undefined;
    void this.#attempt(running, next);
    this.#report();
  }

  async #attempt(running: RunningAttempt, next: Next): Promise<void> {
    const { ledger } = this.#plan;
    const { item, attempt } = next;
    let outcome: RowOutcome | undefined;
    try {
      if (next.isBegun !== true) await recorded(ledger.begin(item, attempt, next.place));
      outcome =
        this.#isAborted && next.isBegun !== true ? undefined : await running.run(next.isBegun === true);
    } catch (error) {
      if (!running.signal.aborted) this.#fail(error);
      else if (this.#failure === undefined) outcome = running.lateOutcome();
    } finally {
      outcome = this.#boundLosses(next, outcome);
      this.#noteFailure(next, outcome);
      if (next.place !== undefined) this.#plan.places?.release(next.place);
      this.#running.delete(running);
      this.#unrecorded += 1;
      this.#changed();
    }
    try {
      if (this.#failure === undefined || outcome !== undefined)
        await recorded(this.#record(running, next, outcome));
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
      if (this.#isAborted) {
        const error = `given up: ${messageOf(this.#abortReason)}`;
        await this.#end(item, running.record("cancelled", { error }));
      } else if (rerun)
        this.#retries.add({ item, attempt: attempt + 1, lastAttempt: lastAttempt + 1, dueAt: 0 });
      else await this.#end(item, running.record("lost", { error: LOST }));
      return;
    }
    if (outcome.status === "lost") {
      await this.#recordLoss(running, next, outcome);
      return;
    }
    if (outcome.status === "failed" && this.#willRetry(next, outcome)) {
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

  async #recordLoss(running: RunningAttempt, next: Next, { error, isBegun, host }: Lost): Promise<void> {
    const { item, attempt, lastAttempt, losses = 0 } = next;
    const facts = { error, ...defined({ host }) };
    if (this.#isAborted) await this.#end(item, running.record("cancelled", facts));
    else if (isBegun && !this.#plan.rerun) await this.#end(item, running.record("lost", facts));
    else {
      this.#counts.moved += 1;
      await this.#plan.ledger.retry(item, attempt, error, true);
      const more = { attempt: attempt + 1, lastAttempt: lastAttempt + 1, losses: losses + (isBegun ? 1 : 0) };
      this.#retries.add({ item, ...more, dueAt: 0 });
    }
    await running.recorded();
  }

  /** A row that loses one place after the other may be what ends them. */
  #boundLosses({ losses = 0 }: Next, outcome: RowOutcome | undefined): RowOutcome | undefined {
    const { maxLosses, rerun } = this.#plan;
    if (outcome?.status !== "lost" || !outcome.isBegun || losses < maxLosses || !rerun) return outcome;
    const { isBegun: _isBegun, ...facts } = outcome;
    const others = losses === 1 ? "1 other with its machine" : `${losses} others with theirs`;
    const times = losses === 0 ? "" : `, after ${others}`;
    return { ...facts, status: "failed", error: `${facts.error}${times}`, retry: false };
  }

  #willRetry({ attempt, lastAttempt }: Next, { retry }: { readonly retry: boolean }): boolean {
    return retry && attempt < lastAttempt && !this.#isAborted;
  }

  /** Before it is recorded, so that no other row starts after the last permitted failure. */
  #noteFailure(next: Next, outcome: RowOutcome | undefined): void {
    if (outcome?.status !== "failed" || this.#isAborted || this.#willRetry(next, outcome)) return;
    const { maxFailures } = this.#plan;
    this.#failures += 1;
    if (this.#failures >= maxFailures)
      this.#stop(`${maxFailures} ${maxFailures === 1 ? "row has" : "rows have"} failed`);
  }

  async #end(item: RowItem, record: RowRecord): Promise<void> {
    const { ledger, onRecord } = this.#plan;
    await ledger.settle(item, record);
    this.#count(record.status);
    this.#counts.ended += 1;
    this.#report();
    await onRecord?.(item, record);
  }

  #count(status: RowStatus): void {
    if (status !== "pending" && status !== "running") this.#counts[status] += 1;
  }

  /** Starts nothing more. */
  #stop(reason: string): void {
    this.#stopReason ??= reason;
    this.#changed();
  }

  /** Abandons everything. */
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

  #report(): void {
    this.#plan.onProgress?.({ ...this.#progress(), ...defined({ waiting: this.#waiting }) });
  }

  /** Reports why nothing runs when the reason changes or goes away. */
  #reportWaiting(): void {
    const waiting = this.#running.size > 0 ? this.#allWait() : this.#plan.places?.waiting;
    if (waiting === this.#waiting) return;
    this.#waiting = waiting;
    this.#report();
  }

  /** Why the attempts cannot begin, if none of them has. */
  #allWait(): string | undefined {
    let waiting: string | undefined;
    for (const attempt of this.#running) {
      waiting = attempt.waiting;
      if (waiting === undefined) return undefined;
    }
    return waiting;
  }

  #progress(): RowsProgress {
    const places = this.#plan.places?.count;
    return { ...this.#counts, running: this.#running.size, ...defined({ places }) };
  }
}

type Lost = Extract<RowOutcome, { readonly status: "lost" }>;

const LOST = "it was running when an earlier run was killed, and no trace of it is left";
