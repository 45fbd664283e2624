import type { Block, Line, LineStore, Stream } from "./line-store.ts";

/** Options that decide how many screen rows each line takes. */
export interface LayoutOptions {
  /** Characters in a row; undefined if long lines do not wrap. */
  readonly columns: number | undefined;
  /** Only lines of this stream. */
  readonly stream: Stream | undefined;
}

export interface PlacedLine {
  readonly index: number;
  readonly line: Line;
  /** Its first row. */
  readonly row: number;
  readonly rows: number;
}

interface BlockRows {
  readonly rows: number;
  /** The block's version when it was measured. */
  readonly version: number;
}

/** Positions of lines on the screen, without measuring each. */
export class LineLayout {
  readonly #store: LineStore;
  #options: LayoutOptions = { columns: undefined, stream: undefined };
  #rows = new Map<Block, BlockRows>();
  #total = 0;

  constructor(store: LineStore) {
    this.#store = store;
  }

  /** Counts again after a change. Returns how many rows at the top are gone since the last time. */
  update(options: LayoutOptions): number {
    const { columns, stream } = this.#options;
    const isOther = columns !== options.columns || stream !== options.stream;
    if (isOther) {
      this.#options = options;
      this.#rows = new Map();
    }
    const kept = new Map<Block, BlockRows>();
    this.#total = 0;
    for (const block of this.#store.blocks) {
      const known = this.#rows.get(block);
      const counted = known?.version === block.version ? known : this.#count(block);
      kept.set(block, counted);
      this.#total += counted.rows;
    }
    let gone = 0;
    for (const [block, { rows }] of this.#rows) {
      if (kept.has(block)) break;
      gone += rows;
    }
    this.#rows = kept;
    return gone;
  }

  get totalRows(): number {
    return this.#total;
  }

  /** The lines in a range of rows. */
  linesBetween(firstRow: number, endRow: number): readonly PlacedLine[] {
    const placed: PlacedLine[] = [];
    let row = 0;
    for (const [block, { rows: blockRows }] of this.#rows) {
      if (row >= endRow) break;
      if (row + blockRows <= firstRow) {
        row += blockRows;
        continue;
      }
      for (const [offset, line] of block.lines.entries()) {
        const rows = this.rowsOf(line);
        if (rows > 0 && row + rows > firstRow && row < endRow)
          placed.push({ index: block.first + offset, line, row, rows });
        row += rows;
      }
    }
    return placed;
  }

  /** The first row of a line, or of the next one that is shown. */
  rowOf(index: number): number {
    let row = 0;
    for (const [block, { rows }] of this.#rows) {
      if (index >= block.first + block.lines.length) {
        row += rows;
        continue;
      }
      for (const line of block.lines.slice(0, Math.max(0, index - block.first))) row += this.rowsOf(line);
      break;
    }
    return row;
  }

  /** 0 if the line is not shown. */
  rowsOf({ kind, stream, text }: Line): number {
    const { columns, stream: only } = this.#options;
    if (kind === "gap") return 1;
    if (only !== undefined && stream !== only) return 0;
    if (columns === undefined || text.length * 2 <= columns) return 1;
    return Math.max(1, Math.ceil(cellsOf(text) / columns));
  }

  #count(block: Block): BlockRows {
    let rows = 0;
    for (const line of block.lines) rows += this.rowsOf(line);
    return { rows, version: block.version };
  }
}

/** Characters of two cells: of East Asian scripts, and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/gu;

/** Maximum number of cells that a text takes. */
function cellsOf(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : text.length + (text.match(WIDE)?.length ?? 0);
}
