export type { JsonValue, RowAttempt, RowItem, RowOutcome, RowRecord, RowStatus } from "./engine/row.ts";
export type { RowLedger } from "./engine/row-ledger.ts";
export type { RowsProgress, RowsSummary } from "./engine/rows-progress.ts";
export type { RunRowsOptions } from "./engine/rows-plan.ts";
export { runRows } from "./engine/run-rows.ts";
export { checkerFor, type CheckResult } from "./result/result-schema.ts";
