import { open, rename, rm } from "node:fs/promises";
import type { RowItem, RowRecord } from "../engine/row.ts";
import type { RowsFile } from "../input/rows-file.ts";
import { AppendFile, cannotWrite } from "../ledger/append-file.ts";
import type { FileLedger } from "../ledger/file-ledger.ts";
import { OutcomeGroups } from "./outcome-groups.ts";
import { RowBatch } from "./row-batch.ts";
import { type OutputFormat, outputFormat, type RowState } from "./result-row.ts";

/** The name under which an output is written before it replaces the one of that name. */
export const partOf = (output: string): string => `${output}.part`;

/** How long a run that is given up may take to order its results. */
const PATIENCE_MS = 5_000;

class Unfinished extends Error {}

/** The file with the results. While a run lasts, rows are appended as they end. */
export class OutputFile {
  readonly #path: string;
  readonly #input: RowsFile;
  readonly #ledger: FileLedger;
  readonly #format: OutputFormat;
  #appended: AppendFile | undefined;

  constructor(path: string, input: RowsFile, ledger: FileLedger) {
    this.#path = path;
    this.#input = input;
    this.#ledger = ledger;
    this.#format = outputFormat(path, input.columns, ledger.jobId);
  }

  /** Writes the rows that have ended, of a job that is resumed, and is ready for more. */
  async begin({
    isResumed,
    signal,
  }: {
    isResumed: boolean;
    signal?: AbortSignal | undefined;
  }): Promise<void> {
    const ended = isResumed ? this.#input.rows() : [];
    await this.#write(ended, (item) => {
      signal?.throwIfAborted();
      const status = this.#ledger.statusOf(item.index);
      return status === "completed" || status === "failed" || status === "lost";
    });
    const file = await open(this.#path, "a");
    this.#appended = new AppendFile(file, { path: this.#path, size: 0, sync: false });
  }

  /** Adds a row that has ended for good. */
  async add(item: RowItem, state: RowRecord): Promise<void> {
    if (state.status !== "cancelled") await this.#appended?.append(this.#format.rows([{ item, state }]));
  }

  /**
   * Writes every row, in the order of the input. Undefined if that takes too long after the signal was aborted: the file
   * has the rows that have ended, in the order of their ends.
   */
  async finish(signal?: AbortSignal): Promise<OutcomeGroups | undefined> {
    await this.#appended?.close();
    this.#appended = undefined;
    let until = Number.POSITIVE_INFINITY;
    try {
      return await this.#write(this.#input.rows(), () => {
        if (signal?.aborted !== true) return true;
        const now = performance.now();
        until = Math.min(until, now + PATIENCE_MS);
        if (now >= until) throw new Unfinished();
        return true;
      });
    } catch (error) {
      if (error instanceof Unfinished) return undefined;
      throw error;
    }
  }

  async #write(
    rows: AsyncIterable<RowItem> | Iterable<RowItem>,
    has: (item: RowItem) => boolean,
  ): Promise<OutcomeGroups> {
    const part = partOf(this.#path);
    const groups = new OutcomeGroups();
    try {
      const file = await open(part, "w");
      try {
        await file.appendFile(this.#format.head);
        const batch = new RowBatch();
        for await (const item of rows) {
          if (!has(item)) continue;
          const state = await this.#stateOf(item);
          groups.add(item, state);
          batch.add(item, state);
          if (batch.isFull) await file.appendFile(this.#format.rows(batch.take()));
        }
        await file.appendFile(this.#format.rows(batch.take()));
        await file.datasync();
      } finally {
        await file.close();
      }
      await rename(part, this.#path);
    } catch (error) {
      await rm(part, { force: true });
      throw cannotWrite(this.#path, error);
    }
    return groups;
  }

  async #stateOf({ index }: RowItem): Promise<RowState> {
    const { stopReason } = this.#ledger;
    const state = await this.#ledger.recordOf(index);
    // Rows that a stop has kept from beginning have no line of their own in the ledger.
    if (state.status === "pending" && stopReason !== undefined && state.attempts === 0)
      return { status: "cancelled", attempts: 0, error: stopReason };
    return state;
  }
}
