import type { RowItem, RowRecord, RowStatus } from "./row.ts";

/** What a job knows about its rows. The engine asks it what to run, and tells it everything before it counts. */
export interface RowLedger {
  readonly jobId: string;
  statusOf(index: number): RowStatus;
  /** How many attempts have begun. */
  attemptsOf(index: number): number;
  /** Records that an attempt begins. Resolves when that is on disk. */
  begin(item: RowItem, attempt: number): Promise<void>;
  /** Records that an attempt failed and that another one follows. Resolves when that is on disk. */
  retry(item: RowItem, attempt: number, error: string): Promise<void>;
  /** Records that nothing more begins in this run. */
  stop(reason: string): Promise<void>;
  /** Records how a row ended. Resolves when that is on disk. */
  settle(item: RowItem, record: RowRecord): Promise<void>;
}
