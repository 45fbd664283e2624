import { stringify } from "csv-stringify/sync";
import type { JsonValue, RowItem, RowRecord } from "../engine/row.ts";

/** Columns that are added to those of the input. */
const RESULT_COLUMNS = [
  "job_id",
  "item_id",
  "row_index",
  "source_id",
  "status",
  "attempt_count",
  "last_error",
  "result_json",
  "reported_at",
  "completed_at",
  "exit_code",
  "duration_ms",
  "host",
] as const;

/** What is written about a row, ended or not. */
export type RowState = Pick<RowRecord, "error" | "result" | "reportedAt" | "exitCode" | "host"> & {
  readonly status: string;
  readonly attempts: number;
  readonly completedAt?: string;
  readonly durationMs?: number;
};

type ResultCells = Record<(typeof RESULT_COLUMNS)[number], string | number | undefined>;

/** Formats rows of an output file. */
export interface OutputFormat {
  /** What comes before the first row. */
  readonly head: string;
  rows(rows: readonly { readonly item: RowItem; readonly state: RowState }[]): string;
}

/** CSV, or JSON lines for a name that ends so. */
export function outputFormat(path: string, columns: readonly string[], jobId: string): OutputFormat {
  const names = ownNames(columns);
  if (/\.(?:jsonl|ndjson)$/i.test(path)) return jsonLines(columns, names, jobId);
  return {
    head: stringify([[...names, ...RESULT_COLUMNS]]),
    rows: (rows) =>
      stringify(
        rows.map(({ item, state }) => {
          const cells = resultCells(jobId, item, state);
          return [
            ...columns.map((name) => item.values[name] ?? ""),
            ...RESULT_COLUMNS.map((name) => cells[name]),
          ];
        }),
      ),
  };
}

function jsonLines(columns: readonly string[], names: readonly string[], jobId: string): OutputFormat {
  return {
    head: "",
    rows: (rows) =>
      rows
        .map(({ item, state }) => {
          const cells = resultCells(jobId, item, state);
          const given = columns.map((name, index) => [names[index]!, item.values[name]] as const);
          const result: JsonValue | undefined = state.result;
          return `${JSON.stringify({ ...Object.fromEntries(given), ...cells, result_json: result })}\n`;
        })
        .join(""),
  };
}

/** A column of the input that is called as one of ours gets another name: an output may be the next input. */
function ownNames(columns: readonly string[]): string[] {
  const taken = new Set<string>([...columns, ...RESULT_COLUMNS]);
  return columns.map((column) => {
    if (!(RESULT_COLUMNS as readonly string[]).includes(column)) return column;
    let name = `input_${column}`;
    while (taken.has(name)) name = `input_${name}`;
    taken.add(name);
    return name;
  });
}

function resultCells(jobId: string, item: RowItem, state: RowState): ResultCells {
  return {
    job_id: jobId,
    item_id: item.id,
    row_index: item.index,
    source_id: item.sourceId,
    status: state.status,
    attempt_count: state.attempts,
    last_error: state.error,
    result_json: state.result === undefined ? undefined : JSON.stringify(state.result),
    reported_at: state.reportedAt,
    completed_at: state.completedAt,
    exit_code: state.exitCode,
    duration_ms: state.durationMs,
    host: state.host,
  };
}
