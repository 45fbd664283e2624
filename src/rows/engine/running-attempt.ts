import { defined } from "../../base/defined.ts";
import { after, formatDuration } from "../../base/duration.ts";
import { ExecError, UsageError } from "../../base/errors.ts";
import type { RowAttempt, RowItem, RowOutcome, RowRecord } from "./row.ts";
import type { RowsPlan } from "./rows-plan.ts";

/** An attempt while it runs. */
export class RunningAttempt implements RowAttempt {
  readonly jobId: string;
  readonly item: RowItem;
  readonly attempt: number;
  declare readonly place?: string;
  readonly stop: (reason: string) => void;
  readonly #plan: RowsPlan;
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #startedAt = performance.now();
  #endedAt: number | undefined;
  #afterRecord: (() => Promise<void>) | undefined;
  #isLate = false;
  #cancelTimeout: () => void = () => {};
  /** Why it cannot begin yet. */
  waiting: string | undefined;
  readonly #run: AttemptRun;

  constructor(
    plan: RowsPlan,
    { item, attempt, place }: { item: RowItem; attempt: number; place?: string | undefined },
    run: AttemptRun,
  ) {
    this.jobId = plan.ledger.jobId;
    this.item = item;
    this.attempt = attempt;
    if (place !== undefined) this.place = place;
    this.stop = run.stop;
    this.#run = run;
    this.#plan = plan;
  }

  readonly afterRecord = (act: () => Promise<void>): void => {
    this.#afterRecord = act;
  };

  readonly waits = (reason: string | undefined): void => {
    if (reason === this.waiting) return;
    this.waiting = reason;
    this.#cancelTimeout();
    if (reason === undefined) this.#limitTime();
    this.#run.waits();
  };

  /** Makes the attempt, or takes over the one that an earlier run began. */
  async run(isBegun: boolean): Promise<RowOutcome | undefined> {
    const { run, takeOver } = this.#plan;
    this.#limitTime();
    try {
      const outcome = await (isBegun ? takeOver?.(this) : run(this));
      // Types do not keep every program from this, and the row would run again and again.
      if (!isBegun && (outcome === undefined || !STATUSES.has(outcome.status)))
        throw new UsageError("run must resolve with an outcome whose status is completed, failed or lost");
      return this.#isLate && outcome?.status === "failed" ? this.lateOutcome(outcome) : outcome;
    } finally {
      this.#cancelTimeout();
      this.#endedAt = performance.now();
    }
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** The outcome of an attempt that was aborted; undefined if its time was not the reason. */
  lateOutcome(facts: Partial<FailedOutcome> = {}): RowOutcome | undefined {
    if (!this.#isLate) return undefined;
    const late = this.#lateText();
    const error = facts.error?.startsWith(late) === true ? facts.error : late;
    return { ...facts, status: "failed", error, retry: true };
  }

  /** Describes the end of the row. */
  record(status: RowRecord["status"], { error, result, exitCode, host, tokens }: RecordFacts): RowRecord {
    const completedAt = new Date().toISOString();
    const reportedAt = result === undefined ? undefined : completedAt;
    return {
      index: this.item.index,
      id: this.item.id,
      status,
      attempts: this.attempt,
      ...defined({ error, result, reportedAt, exitCode, host, tokens }),
      completedAt,
      durationMs: Math.round((this.#endedAt ?? performance.now()) - this.#startedAt),
    };
  }

  /** The outcome is on disk. */
  async recorded(): Promise<void> {
    await this.#afterRecord?.();
  }

  #limitTime(): void {
    this.#cancelTimeout = after(this.#plan.timeoutMs, () => {
      this.#isLate = true;
      this.abort(new ExecError("TIMED_OUT", this.#lateText()));
    });
  }

  #lateText(): string {
    return `timed out after ${formatDuration(this.#plan.timeoutMs)}`;
  }
}

type FailedOutcome = Extract<RowOutcome, { readonly status: "failed" }>;

/** Callbacks from an attempt to its run. */
interface AttemptRun {
  readonly stop: (reason: string) => void;
  /** It is waiting to begin, or has begun. */
  readonly waits: () => void;
}

const STATUSES = new Set<unknown>(["completed", "failed", "lost"]);

type RecordFacts = Pick<RowRecord, "error" | "result" | "exitCode" | "host" | "tokens">;
