import { type ReadonlySignal, useComputed, useSignal } from "@preact/signals";
import { visibleLines, visibleText } from "../../base/visible-text.ts";
import { inGroup, useCommands } from "../frame/commands.ts";
import { Badge } from "../ui/badge.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { formatMs } from "../ui/format.ts";
import { useGridCursor } from "../ui/grid-cursor.ts";
import { GridFilter } from "../ui/grid-filter.tsx";
import { RowGrid } from "../ui/row-grid.tsx";
import { SortHead } from "../ui/sort-head.tsx";
import { arrangeRows, DEFAULT_SORTING, LARGEST_FIRST, outcomeText, type RowColumn } from "./arrange-rows.ts";
import { countEnded, type EndedRow, type JobProgress } from "./ledger-reader.ts";

const ROW_PX = { wide: 34, narrow: 58 };
/** A line has no room for more. */
const SHOWN_CHARACTERS = 300;

const COLUMNS: readonly { readonly column: RowColumn; readonly title: string }[] = [
  { column: "row", title: "Row" },
  { column: "id", title: "Id" },
  { column: "state", title: "State" },
  { column: "attempts", title: "Attempts" },
  { column: "time", title: "Time" },
  { column: "result", title: "Result or error" },
];

/** The rows of a job that have ended, with what came out. */
export function RowTable({ progress }: { readonly progress: ReadonlySignal<JobProgress | undefined> }) {
  const rows = useComputed(() => progress.value?.rows ?? []);
  const filter = useSignal("");
  const sorting = useSignal(DEFAULT_SORTING);
  const opened = useSignal<EndedRow | undefined>(undefined);
  const shown = useComputed(() => arrangeRows(rows.value, { filter: filter.value, sorting: sorting.value }));
  const { cursor, current, filterField, commands } = useGridCursor(shown, rowKey);
  const open = (row: EndedRow | undefined): void => {
    if (row === undefined) return;
    cursor.value = rowKey(row);
    opened.value = row;
  };
  useCommands(() =>
    inGroup("Rows", [
      ...commands("row", "row"),
      { id: "row-open", title: "Show all of the row's result", keys: "Enter", run: () => open(current()) },
    ]),
  );
  const count = rows.value.length;
  const ended = progress.value === undefined ? 0 : countEnded(progress.value);
  return (
    <section class="rows-ended view-column">
      <header>
        <h2>
          {count < ended
            ? `The latest ${count.toLocaleString("en")} of ${ended.toLocaleString("en")} ended rows`
            : "Ended rows"}
        </h2>
        <GridFilter field={filterField} label="Filter the rows" filter={filter} />
      </header>
      <RowGrid
        class="rows-table"
        label="Ended rows"
        rows={shown.value}
        rowPx={ROW_PX}
        rowKey={rowKey}
        cursor={cursor.value}
        currentId="row-current"
        emptyText={count === 0 ? "No row has ended yet." : "No row matches the filter."}
        head={COLUMNS.map(({ column, title }) => (
          <SortHead key={column} largestFirst={LARGEST_FIRST} {...{ column, title, sorting }} />
        ))}
      >
        {(row, index) => (
          <div
            key={row.index}
            class={`row-grid-row${rowKey(row) === cursor.value ? " current" : ""}`}
            role="row"
            id={rowKey(row) === cursor.value ? "row-current" : undefined}
            aria-rowindex={index + 2}
            onClick={() => {
              if (String(getSelection()) === "") open(row);
            }}
          >
            <span role="gridcell" class="row number">
              {/* The row takes the click. */}
              <button type="button" aria-label={`Row ${row.index + 1}`} tabIndex={-1}>
                {row.index + 1}
              </button>
            </span>
            <span role="gridcell" class="id code one-line">
              {visibleText(row.id)}
            </span>
            <span role="gridcell" class="state">
              <RowState row={row} />
            </span>
            <span role="gridcell" class="attempts number">
              {row.attempts}
            </span>
            <span role="gridcell" class="time number">
              {row.durationMs === undefined ? "" : formatMs(row.durationMs)}
            </span>
            <span role="gridcell" class="result code one-line">
              {visibleText(outcomeText(row).slice(0, SHOWN_CHARACTERS))}
            </span>
          </div>
        )}
      </RowGrid>
      {opened.value === undefined ? null : (
        <RowDialog
          row={opened.value}
          onClose={() => {
            opened.value = undefined;
          }}
        />
      )}
    </section>
  );
}

function rowKey({ index }: EndedRow): string {
  return String(index);
}

const KINDS: Readonly<Record<string, "good" | "bad">> = { completed: "good", failed: "bad" };

function RowState({ row: { status } }: { readonly row: EndedRow }) {
  return <Badge kind={KINDS[status] ?? "warn"}>{visibleText(status)}</Badge>;
}

/** Everything that is known of one row. */
function RowDialog({ row, onClose }: { readonly row: EndedRow; readonly onClose: () => void }) {
  const { index, id, attempts, durationMs, exitCode, host, error, result, isCut } = row;
  const facts = [
    ["Id", visibleText(id)],
    ["Attempts", attempts],
    ["Time", durationMs === undefined ? "" : formatMs(durationMs)],
    ["Exit status", exitCode],
    ["Host", visibleText(host)],
  ] as const;
  return (
    <Dialog title={`Row ${index + 1}`} size="medium" onClose={onClose}>
      <div class="rows-details">
        <RowState row={row} />
        <dl class="rows-work">
          {facts.map(([name, value]) =>
            value === undefined || value === "" ? null : (
              <div key={name}>
                <dt>{name}</dt>
                <dd class="code">{value}</dd>
              </div>
            ),
          )}
        </dl>
        {error === "" ? null : <Text title="Error" text={error} />}
        {result === "" ? null : <Text title="Result" text={result} />}
        {isCut ? <p class="hint">Only the beginning. The file with the results has all of it.</p> : null}
      </div>
    </Dialog>
  );
}

function Text({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <>
      <h3>{title}</h3>
      <pre class="code">{visibleLines(text)}</pre>
    </>
  );
}
