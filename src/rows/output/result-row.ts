import { stringify } from "csv-stringify/sync";
import type { RowItem, RowRecord } from "../engine/row.ts";

/** The state of a row to write, ended or not. */
export type RowState = Pick<RowRecord, "error" | "result" | "reportedAt" | "exitCode" | "host"> & {
  readonly status: string;
  readonly attempts: number;
  readonly completedAt?: string;
  readonly durationMs?: number;
};

type Cell = string | number | undefined;

/** The columns added to those of the input, and their contents. */
const RESULT_CELLS: Readonly<Record<string, (item: RowItem, state: RowState, jobId: string) => Cell>> = {
  job_id: (_item, _state, jobId) => jobId,
  item_id: ({ id }) => id,
  row_index: ({ index }) => index,
  source_id: ({ sourceId }) => sourceId,
  status: (_item, { status }) => status,
  attempt_count: (_item, { attempts }) => attempts,
  last_error: (_item, { error }) => error,
  result_json: (_item, { result }) => (result === undefined ? undefined : JSON.stringify(result)),
  reported_at: (_item, { reportedAt }) => reportedAt,
  completed_at: (_item, { completedAt }) => completedAt,
  exit_code: (_item, { exitCode }) => exitCode,
  duration_ms: (_item, { durationMs }) => durationMs,
  host: (_item, { host }) => host,
};
type ResultCells = typeof RESULT_CELLS;

/** Formats rows of an output file. */
export interface OutputFormat {
  /** Text before the first row. */
  readonly head: string;
  rows(rows: readonly { readonly item: RowItem; readonly state: RowState }[]): string;
}

interface OutputColumns {
  /** Those of the input. */
  readonly columns: readonly string[];
  readonly jobId: string;
  /** Name of a column for results that are text, without JSON around them. */
  readonly textColumn: string | undefined;
}

/** CSV, or JSON lines for a name that ends so. */
export function outputFormat(path: string, { columns, jobId, textColumn }: OutputColumns): OutputFormat {
  const added: ResultCells =
    textColumn === undefined ? RESULT_CELLS : { ...RESULT_CELLS, [textColumn]: textOf };
  const names = ownNames(columns, Object.keys(added));
  const resultCells = (item: RowItem, state: RowState): [name: string, cell: Cell][] =>
    Object.entries(added).map(([name, cellOf]) => [name, cellOf(item, state, jobId)]);
  if (/\.(?:jsonl|ndjson)$/i.test(path))
    return {
      head: "",
      rows: (rows) =>
        rows
          .map(({ item, state }) => {
            const input = columns.map((name, index) => [names[index]!, item.values[name]] as const);
            const cells = Object.fromEntries([...input, ...resultCells(item, state)]);
            return `${JSON.stringify({ ...cells, result_json: state.result })}\n`;
          })
          .join(""),
    };
  return {
    head: stringify([[...names, ...Object.keys(added)]]),
    rows: (rows) =>
      stringify(
        rows.map(({ item, state }) => [
          ...columns.map((name) => item.values[name] ?? ""),
          ...resultCells(item, state).map(([, cell]) => cell),
        ]),
      ),
  };
}

function textOf(_item: RowItem, { result }: RowState): Cell {
  return typeof result === "string" ? result : undefined;
}

/** A column of the input that is called as one of ours gets another name: an output may be the next input. */
function ownNames(columns: readonly string[], added: readonly string[]): string[] {
  const taken = new Set([...columns, ...added]);
  return columns.map((column) => {
    if (!added.includes(column)) return column;
    let name = `input_${column}`;
    while (taken.has(name)) name = `input_${name}`;
    taken.add(name);
    return name;
  });
}
