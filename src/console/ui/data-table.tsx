import type { ComponentChildren } from "preact";

export interface DataColumn<Row> {
  readonly title: string;
  /** `right` for numbers; `wraps` for texts of any length. */
  readonly class?: string;
  readonly cell: (row: Row) => ComponentChildren;
}

export interface DataTableProps<Row> {
  readonly columns: readonly DataColumn<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string | number;
}

/** A table of some hundred rows. On a phone each row is a card: the first cell, then the others with their titles. */
export function DataTable<Row>({ columns, rows, rowKey }: DataTableProps<Row>) {
  return (
    <table class="data-table">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.title} class={column.class}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
            {columns.map((column) => (
              <td key={column.title} class={column.class} data-title={column.title}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
