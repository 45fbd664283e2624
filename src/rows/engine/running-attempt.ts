import { after, formatDuration } from "../../base/duration.ts";
import { ExecError, UsageError } from "../../base/errors.ts";
import type { JsonValue, RowAttempt, RowItem, RowOutcome, RowRecord } from "./row.ts";
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
  readonly #startedAt = performance.now();
  #endedAt: number | undefined;
  #afterRecord: (() => Promise<void>) | undefined;
  #isLate = false;

  constructor(
    plan: RowsPlan,
    { item, attempt, place }: { item: RowItem; attempt: number; place?: string | undefined },
    stop: (reason: string) => void,
  ) {
    this.jobId = plan.ledger.jobId;
    this.item = item;
    this.attempt = attempt;
    if (place !== undefined) this.place = place;
    this.stop = stop;
    this.#plan = plan;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.signal.aborted;
  }

  readonly afterRecord = (act: () => Promise<void>): void => {
    this.#afterRecord = act;
  };

  /** Makes the attempt, or takes over the one that an earlier run began. */
  async run(isBegun: boolean): Promise<RowOutcome | undefined> {
    const { run, takeOver, timeoutMs } = this.#plan;
    const cancel = after(timeoutMs, () => {
      this.#isLate = true;
      this.abort(new ExecError("TIMED_OUT", this.#lateText()));
    });
    try {
      const outcome = await (isBegun ? takeOver?.(this) : run(this));
      // Types do not keep every program from this, and the row would run again and again.
      if (!isBegun && (outcome === undefined || !STATUSES.has(outcome.status)))
        throw new UsageError("run must resolve with an outcome whose status is completed, failed or lost");
      return this.#isLate && outcome?.status === "failed" ? this.lateOutcome(outcome) : outcome;
    } finally {
      cancel();
      this.#endedAt = performance.now();
    }
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** The outcome of an attempt that was aborted; undefined if its time was not the reason. */
  lateOutcome(facts: Partial<RowOutcome> = {}): RowOutcome | undefined {
    return this.#isLate ? { ...facts, status: "failed", error: this.#lateText(), retry: true } : undefined;
  }

  /** Describes the end of the row. */
  record(status: RowRecord["status"], { error, result, exitCode, host, tokens }: RecordFacts): RowRecord {
    const completedAt = new Date().toISOString();
    return {
      index: this.item.index,
      id: this.item.id,
      status,
      attempts: this.attempt,
      ...(error === undefined ? {} : { error }),
      ...(result === undefined ? {} : { result, reportedAt: completedAt }),
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(host === undefined ? {} : { host }),
      ...(tokens === undefined ? {} : { tokens }),
      completedAt,
      durationMs: Math.round((this.#endedAt ?? performance.now()) - this.#startedAt),
    };
  }

  /** The outcome is on disk. */
  async recorded(): Promise<void> {
    await this.#afterRecord?.();
  }

  #lateText(): string {
    return `timed out after ${formatDuration(this.#plan.timeoutMs)}`;
  }
}

const STATUSES = new Set<unknown>(["completed", "failed", "lost"]);

interface RecordFacts {
  readonly error?: string;
  readonly result?: JsonValue;
  readonly exitCode?: number;
  readonly host?: string;
  readonly tokens?: number;
}
