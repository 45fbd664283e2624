/** A value that JSON can express. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** One row of the input. */
export interface RowItem {
  /** Position in the input, from 0. */
  readonly index: number;
  /** Unique in the job: the value of the id column, or `row-1`, `row-2`, … */
  readonly id: string;
  /** The value of the id column, if there is one. */
  readonly sourceId?: string;
  /** The cells by the names of their columns. */
  readonly values: Readonly<Record<string, string>>;
  /** The row as JSON, if it comes from a file of JSON lines. */
  readonly json?: string;
}

/** One attempt at a row. */
export interface RowAttempt {
  readonly jobId: string;
  readonly item: RowItem;
  /** Counted from 1. */
  readonly attempt: number;
  /** The place that runs it, if the run has several. */
  readonly place?: string;
  /**
   * Aborted when the row runs out of time, or the whole run is abandoned. Everything the attempt has started must end.
   */
  readonly signal: AbortSignal;
  /** Cancels every row that has not begun. Rows that run are completed. */
  readonly stop: (reason: string) => void;
  /**
   * Says why the attempt cannot begin yet, and with undefined that it has begun: its time runs from then on, and the
   * progress says why nothing runs.
   */
  readonly waits: (reason: string | undefined) => void;
  /** Calls `act` once the outcome is on disk: until then, a killed run would need what the attempt has left behind. */
  readonly afterRecord: (act: () => Promise<void>) => void;
}

/** Where and how an attempt ended, as far as it is known. */
interface OutcomeFacts {
  readonly exitCode?: number;
  readonly host?: string;
  /** Tokens that a model has used for the row, in all attempts of this run. */
  readonly tokens?: number;
}

/** How an attempt ended. */
export type RowOutcome =
  | (OutcomeFacts & { readonly status: "completed"; readonly result?: JsonValue })
  | (OutcomeFacts & {
      readonly status: "failed";
      readonly error: string;
      /** Whether another attempt could succeed. */
      readonly retry: boolean;
      /** The result so far. */
      readonly result?: JsonValue;
    })
  /**
   * Nothing will be known of its end, because its place is gone, or it has not begun, because its place refused it.
   * Another attempt follows, which is not counted as a retry.
   */
  | (OutcomeFacts & {
      readonly status: "lost";
      readonly error: string;
      /** False if it is certain that nothing has begun. */
      readonly isBegun: boolean;
    });

/**
 * `pending`: not begun. `running`: an attempt has begun, and its end is unknown. `cancelled`: abandoned before its end,
 * or before it began; it runs again when the job is resumed. `lost`: it was running when the program, the server or a
 * machine was lost, and must not run again.
 */
export type RowStatus = "pending" | "running" | "completed" | "failed" | "cancelled" | "lost";

/** The record of a row when an attempt at it ends for good. */
export interface RowRecord {
  readonly index: number;
  readonly id: string;
  readonly status: "completed" | "failed" | "cancelled" | "lost";
  readonly attempts: number;
  readonly error?: string;
  readonly result?: JsonValue;
  readonly exitCode?: number;
  readonly host?: string;
  /** Tokens that a model has used for the row, in all attempts of the last run. */
  readonly tokens?: number;
  /** When the result arrived; absent without one. */
  readonly reportedAt?: string;
  readonly completedAt: string;
  /** Duration of the last attempt. */
  readonly durationMs: number;
}
