import type { FileHandle } from "node:fs/promises";
import type { RowItem, RowRecord } from "../engine/row.ts";
import type { RowsFile } from "../input/rows-file.ts";
import { AppendFile, cannotWrite } from "../ledger/append-file.ts";
import type { FileLedger } from "../ledger/file-ledger.ts";
import { OutcomeGroups } from "./outcome-groups.ts";
import { OutputDirectory } from "./output-directory.ts";
import { RowBatch } from "./row-batch.ts";
import { type OutputFormat, outputFormat, type RowState } from "./result-row.ts";

/** How long an abandoned run may take to sort its results. */
const PATIENCE_MS = 5_000;

class Unfinished extends Error {}

interface OutputFileOptions {
  readonly input: RowsFile;
  readonly ledger: FileLedger;
  /** Name of a column for results that are text. */
  readonly textColumn: string | undefined;
}

/** The file with the results. While a run lasts, rows are appended as they end. */
export class OutputFile {
  readonly #path: string;
  readonly #input: RowsFile;
  readonly #ledger: FileLedger;
  readonly #format: OutputFormat;
  #directory: OutputDirectory | undefined;
  #appended: AppendFile | undefined;

  constructor(path: string, { input, ledger, textColumn }: OutputFileOptions) {
    this.#path = path;
    this.#input = input;
    this.#ledger = ledger;
    this.#format = outputFormat(path, { columns: input.columns, jobId: ledger.jobId, textColumn });
  }

  /** Writes the rows that have ended, of a job that is resumed, and is ready for more. */
  async begin(isResumed: boolean, signal: AbortSignal | undefined): Promise<void> {
    const ended = isResumed ? this.#input.rows() : [];
    const directory = await OutputDirectory.open(this.#path).catch((error) => {
      throw cannotWrite(this.#path, error);
    });
    try {
      if (isResumed) await directory.removeUnfinished();
      const { file } = await this.#write(directory, ended, (item) => {
        signal?.throwIfAborted();
        const status = this.#ledger.statusOf(item.index);
        return status === "completed" || status === "failed" || status === "lost";
      });
      this.#directory = directory;
      this.#appended = new AppendFile(file, { path: this.#path, size: 0, sync: false });
    } catch (error) {
      await directory[Symbol.asyncDispose]();
      throw error;
    }
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
    await using directory = this.#directory;
    if (directory === undefined) return undefined;
    let until = Number.POSITIVE_INFINITY;
    try {
      const { groups, file } = await this.#write(directory, this.#input.rows(), () => {
        if (signal?.aborted !== true) return true;
        const now = performance.now();
        until = Math.min(until, now + PATIENCE_MS);
        if (now >= until) throw new Unfinished();
        return true;
      });
      await file.close();
      return groups;
    } catch (error) {
      if (error instanceof Unfinished) return undefined;
      throw error;
    }
  }

  /** Replaces the file. Resolves with it still open at its end: its name may lead elsewhere a moment later. */
  async #write(
    directory: OutputDirectory,
    rows: AsyncIterable<RowItem> | Iterable<RowItem>,
    has: (item: RowItem) => boolean,
  ): Promise<{ groups: OutcomeGroups; file: FileHandle }> {
    const groups = new OutcomeGroups();
    try {
      const file = await directory.replace(async (unfinished) => {
        await unfinished.appendFile(this.#format.head);
        const batch = new RowBatch();
        for await (const item of rows) {
          if (!has(item)) continue;
          const state = await this.#stateOf(item);
          groups.add(item, state);
          batch.add(item, state);
          if (batch.isFull) await unfinished.appendFile(this.#format.rows(batch.take()));
        }
        await unfinished.appendFile(this.#format.rows(batch.take()));
        await unfinished.datasync();
      });
      return { groups, file };
    } catch (error) {
      throw cannotWrite(this.#path, error);
    }
  }

  async #stateOf({ index }: RowItem): Promise<RowState> {
    const { stopReason } = this.#ledger;
    const state = await this.#ledger.recordOf(index);
    // Rows that a stop has kept from starting have no line in the ledger.
    if (state.status === "pending" && stopReason !== undefined && state.attempts === 0)
      return { status: "cancelled", attempts: 0, error: stopReason };
    return state;
  }
}
