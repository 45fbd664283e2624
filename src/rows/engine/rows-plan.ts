import type { Places } from "./places.ts";
import type { RowAttempt, RowItem, RowOutcome, RowRecord } from "./row.ts";
import type { RowLedger } from "./row-ledger.ts";
import type { RowsProgress } from "./rows-progress.ts";

/** Work and options for rows. */
export interface RunRowsOptions {
  /** Read as the rows are needed, each once, in the order of `index`. */
  readonly rows: AsyncIterable<RowItem> | Iterable<RowItem>;
  /**
   * Makes one attempt at a row. An error that it throws is not the row's: it ends the run, nothing is recorded about the
   * attempt, and `runRows` rejects with it.
   */
  readonly run: (attempt: RowAttempt) => Promise<RowOutcome>;
  /**
   * Finds an attempt that was running when an earlier run was killed, and follows it to its end. Resolves with undefined
   * if nothing of it is left: then the row runs again, or is `lost`.
   */
  readonly takeOver?: (attempt: RowAttempt) => Promise<RowOutcome | undefined>;
  /** Default: in memory, so that the run cannot be resumed. */
  readonly ledger?: RowLedger;
  /** Places for attempts. Default: a single one. */
  readonly places?: Places;
  /** Maximum number of concurrent rows. Default: 16. */
  readonly maxConcurrency?: number;
  /** Maximum number of retries of a failed row. Default: 0. */
  readonly retries?: number;
  /**
   * Maximum number of attempts at a row that may be lost with their places, in one run, before the row fails. Default:
   * 3.
   */
  readonly maxLosses?: number;
  /** Time before the second attempt; it doubles with each further one. Default: 1 s. */
  readonly backoffMs?: number;
  /** Longest time between two attempts. Default: 1 min. */
  readonly maxBackoffMs?: number;
  /** Time for each attempt. Default: no limit. */
  readonly timeoutMs?: number;
  /** Time for the run. Default: no limit. */
  readonly totalTimeoutMs?: number;
  /** Begins nothing more after this many failed rows. Default: never. */
  readonly maxFailures?: number;
  /** Begins at most this many rows; the others stay pending. Default: all. */
  readonly limit?: number;
  /** Rows of a resumed job to run: those without a result, the default, or only those that failed or were lost. */
  readonly only?: "unfinished" | "failed";
  /**
   * Whether a row runs again if an earlier run was killed during it and nothing is left of it, or if its place was lost.
   * Default: true.
   */
  readonly rerun?: boolean;
  /** Gives the run up: whatever runs is aborted, and the summary says `interrupted`. */
  readonly signal?: AbortSignal;
  /** Called whenever a row begins or ends, and when there is another reason why none begins. */
  readonly onProgress?: (progress: RowsProgress) => void;
  /** Called for each row that ends in this run, when that is recorded. */
  readonly onRecord?: (item: RowItem, record: RowRecord) => void | Promise<void>;
}

/** The options with their defaults. */
export type RowsPlan = Required<Omit<RunRowsOptions, Absent>> & Pick<RunRowsOptions, Absent>;

/** Options without a default. */
type Absent = "takeOver" | "places" | "signal" | "onProgress" | "onRecord";
