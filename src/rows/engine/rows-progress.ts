import type { RowStatus } from "./row.ts";

/** How far a run is. */
export interface RowsProgress {
  /** Rows that were read so far, including those that an earlier run had finished. */
  readonly rows: number;
  readonly running: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly lost: number;
  /** Attempts after the first. */
  readonly retries: number;
  /** Attempts that were lost with their places, or refused there, and followed by another one. */
  readonly moved: number;
  /** Rows that ended in this run, not in an earlier one. */
  readonly ended: number;
  /** How many places take rows now, if there are several. */
  readonly places?: number;
  /** Why nothing runs although a row is due: no place has a free slot, or no attempt can begin. */
  readonly waiting?: string;
}

/** How a run ended. */
export interface RowsSummary extends RowsProgress {
  readonly jobId: string;
  /** `stopped`: rows were not begun because of `reason`. `interrupted`: its signal was aborted. */
  readonly end: "finished" | "stopped" | "interrupted";
  readonly reason?: string;
  readonly durationMs: number;
}

/** Counts rows by their status. */
export class RowCounts {
  readonly #byStatus: Record<RowStatus, number> = {
    pending: 0,
    running: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    lost: 0,
  };
  rows = 0;
  running = 0;
  retries = 0;
  moved = 0;
  ended = 0;

  add(status: RowStatus, count = 1): void {
    this.#byStatus[status] += count;
  }

  progress(): RowsProgress {
    const { completed, failed, cancelled, lost } = this.#byStatus;
    const { rows, running, retries, moved, ended } = this;
    return { rows, running, completed, failed, cancelled, lost, retries, moved, ended };
  }
}
