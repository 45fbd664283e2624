/** Progress of a run. */
export interface RowsProgress {
  /** Rows read so far, including those that an earlier run had finished. */
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
  /** Number of places that accept rows, if there are several. */
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
