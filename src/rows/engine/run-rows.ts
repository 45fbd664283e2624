import { checkDuration } from "../../base/duration.ts";
import { UsageError } from "../../base/errors.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import type { RowsPlan, RunRowsOptions } from "./rows-plan.ts";
import type { RowsSummary } from "./rows-progress.ts";
import { RowsRun } from "./rows-run.ts";

const DEFAULT_MAX_CONCURRENCY = 16;
const DEFAULT_MAX_LOSSES = 3;
const DEFAULT_BACKOFF_MS = 1_000;
const DEFAULT_MAX_BACKOFF_MS = 60_000;
const MAX_CONCURRENCY = 10_000;

/** Does something with each row, so many at once. Resolves when every row has ended, or nothing more begins. */
export async function runRows(options: RunRowsOptions): Promise<RowsSummary> {
  return await new RowsRun({
    ...options,
    ...checkLimits(options),
    ledger: options.ledger ?? new MemoryLedger(),
    only: options.only ?? "unfinished",
    rerun: options.rerun ?? true,
  }).run();
}

type Limits = Pick<
  RowsPlan,
  | "maxConcurrency"
  | "retries"
  | "maxLosses"
  | "backoffMs"
  | "maxBackoffMs"
  | "timeoutMs"
  | "totalTimeoutMs"
  | "maxFailures"
  | "limit"
>;

/** The numbers among the options, with their defaults. Throws a UsageError for one that makes no sense. */
export function checkLimits(options: Partial<Limits>): Limits {
  const maxConcurrency = checkCount("maxConcurrency", options.maxConcurrency ?? DEFAULT_MAX_CONCURRENCY, 1);
  if (maxConcurrency > MAX_CONCURRENCY)
    throw new UsageError(`maxConcurrency may be up to ${MAX_CONCURRENCY}, not ${maxConcurrency}`);
  const never = Number.POSITIVE_INFINITY;
  return {
    maxConcurrency,
    retries: checkCount("retries", options.retries ?? 0, 0),
    maxLosses: checkCount("maxLosses", options.maxLosses ?? DEFAULT_MAX_LOSSES, 0),
    backoffMs: checkDuration("backoffMs", options.backoffMs ?? DEFAULT_BACKOFF_MS),
    maxBackoffMs: checkDuration("maxBackoffMs", options.maxBackoffMs ?? DEFAULT_MAX_BACKOFF_MS),
    timeoutMs: checkDuration("timeoutMs", options.timeoutMs ?? never),
    totalTimeoutMs: checkDuration("totalTimeoutMs", options.totalTimeoutMs ?? never),
    maxFailures: checkCount("maxFailures", options.maxFailures ?? never, 1),
    limit: checkCount("limit", options.limit ?? never, 0),
  };
}

function checkCount(name: string, count: number, min: number): number {
  if ((Number.isSafeInteger(count) && count >= min) || count === Number.POSITIVE_INFINITY) return count;
  throw new UsageError(`${name} must be a whole number from ${min} on, not ${count}`);
}
