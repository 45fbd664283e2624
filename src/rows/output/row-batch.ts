import type { RowItem } from "../engine/row.ts";
import type { RowState } from "./result-row.ts";

const MAX_ROWS = 256;
/** Escapes and quotes can make the text several times as long. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** Rows that are formatted and written together: many small ones, or a few large ones. */
export class RowBatch {
  #rows: { readonly item: RowItem; readonly state: RowState }[] = [];
  #characters = 0;

  get isFull(): boolean {
    return this.#rows.length >= MAX_ROWS || this.#characters >= MAX_CHARACTERS;
  }

  add(item: RowItem, state: RowState): void {
    this.#rows.push({ item, state });
    this.#characters += lengthOf(state.result) + (state.error?.length ?? 0);
    for (const name in item.values) this.#characters += item.values[name]!.length;
  }

  /** Removes and returns the rows. */
  take(): readonly { readonly item: RowItem; readonly state: RowState }[] {
    const rows = this.#rows;
    this.#rows = [];
    this.#characters = 0;
    return rows;
  }
}

function lengthOf(result: RowState["result"]): number {
  if (result === undefined) return 0;
  return typeof result === "string" ? result.length : JSON.stringify(result).length;
}
