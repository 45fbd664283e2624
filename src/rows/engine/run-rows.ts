import { checkDuration } from "../../base/duration.ts";
import { UsageError } from "../../base/errors.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import type { RunRowsOptions } from "./rows-plan.ts";
import type { RowsSummary } from "./rows-progress.ts";
import { RowsRun } from "./rows-run.ts";

const MAX_CONCURRENCY = 10_000;
const NEVER = Number.POSITIVE_INFINITY;

/** Defaults of the numeric options. Those with a minimum are counts, the others durations. */
const LIMITS = {
  maxConcurrency: { initial: 16, least: 1 },
  retries: { initial: 0, least: 0 },
  maxLosses: { initial: 3, least: 0 },
  backoffMs: { initial: 1_000 },
  maxBackoffMs: { initial: 60_000 },
  timeoutMs: { initial: NEVER },
  totalTimeoutMs: { initial: NEVER },
  maxFailures: { initial: NEVER, least: 1 },
  limit: { initial: NEVER, least: 0 },
} satisfies { readonly [Name in keyof RunRowsOptions]?: { initial: number; least?: number } };

type Limits = { readonly [Name in keyof typeof LIMITS]: number };

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

/** The numbers among the options, with their defaults. Throws a UsageError for one that makes no sense. */
export function checkLimits(options: Partial<Limits>): Limits {
  const limits = Object.entries(LIMITS).map(([name, limit]) => {
    const value = options[name as keyof Limits] ?? limit.initial;
    return [name, "least" in limit ? checkCount(name, value, limit.least) : checkDuration(name, value)];
  });
  const { maxConcurrency } = options;
  if (maxConcurrency !== undefined && maxConcurrency > MAX_CONCURRENCY)
    throw new UsageError(`maxConcurrency may be up to ${MAX_CONCURRENCY}, not ${maxConcurrency}`);
  return Object.fromEntries(limits) as Limits;
}

function checkCount(name: string, count: number, min: number): number {
  if ((Number.isSafeInteger(count) && count >= min) || count === Number.POSITIVE_INFINITY) return count;
  throw new UsageError(`${name} must be a whole number of at least ${min}, not ${count}`);
}
