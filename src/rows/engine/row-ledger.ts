import type { RowItem, RowRecord, RowStatus } from "./row.ts";

/** A job's record of its rows. The engine asks it what to run, and records everything in it before it counts. */
export interface RowLedger {
  readonly jobId: string;
  statusOf(index: number): RowStatus;
  /** Number of attempts that have begun. */
  attemptsOf(index: number): number;
  /** Place of the `running` attempt, if the run had several places. */
  placeOf?(index: number): string | undefined;
  /** Records that an attempt begins, and where. Resolves when that is on disk. */
  begin(item: RowItem, attempt: number, place?: string): Promise<void>;
  /** Records that an attempt failed, or was lost, and that another one follows. Resolves when that is on disk. */
  retry(item: RowItem, attempt: number, error: string, isLost?: boolean): Promise<void>;
  /** Records that nothing more begins in this run. */
  stop(reason: string): Promise<void>;
  /** Records how a row ended. Resolves when that is on disk. */
  settle(item: RowItem, record: RowRecord): Promise<void>;
}
