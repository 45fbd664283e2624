import { constants } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { defined } from "../../base/defined.ts";
import { ExecError, UsageError } from "../../base/errors.ts";
import type { RowItem, RowRecord, RowStatus } from "../engine/row.ts";
import type { RowLedger } from "../engine/row-ledger.ts";
import { AppendFile, cannotWrite } from "./append-file.ts";
import { beginsHeader, isNewer, type JobHeader, type LedgerEntry, parseEntry } from "./ledger-entries.ts";
import { LedgerIndex } from "./ledger-index.ts";
import { lockFile } from "./lock-file.ts";
import { LineReader, readLines } from "./read-lines.ts";

const NEW = "ax+";
/** Anything but a file is refused, and a pipe is not waited for. */
const EXISTING = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** State of a row that has not ended. */
interface OpenRow {
  readonly status: "pending" | "running";
  readonly attempts: number;
  /** Why the last attempt failed. */
  readonly error?: string;
}

/**
 * The ledger of a job as a file of JSON lines, which is only appended to. In memory it needs eleven bytes for each row:
 * results stay in the file.
 */
export class FileLedger implements RowLedger, AsyncDisposable {
  readonly header: JobHeader;
  readonly path: string;
  /** Why an earlier run, or this one, began nothing more. */
  stopReason: string | undefined;
  readonly #log: AppendFile;
  readonly #unlock: () => void;
  readonly #index: LedgerIndex;
  readonly #reader: LineReader;

  private constructor(
    path: string,
    file: FileHandle,
    { header, index, size, unlock }: Contents & { readonly header: JobHeader; readonly unlock: () => void },
  ) {
    this.path = path;
    this.header = header;
    this.#log = new AppendFile(file, { path, size, sync: true });
    this.#unlock = unlock;
    this.#index = index;
    this.#reader = new LineReader(file);
  }

  /** Creates the ledger of a new job. The file must not exist, or is replaced. */
  static async create(
    path: string,
    header: JobHeader,
    { replace = false }: { readonly replace?: boolean } = {},
  ): Promise<FileLedger> {
    return await locked(path, async (unlock) => {
      if (replace) await rm(path, { force: true });
      const file = await openFile(path, NEW);
      const ledger = new FileLedger(path, file, { index: new LedgerIndex(), header, size: 0, unlock });
      void ledger.#append(header);
      return await ledger.#begun();
    });
  }

  /**
   * Continues a job, after `check` has accepted its header. If a program was killed before it had recorded the header,
   * nothing has begun, and the job is the one of `header`.
   */
  static async resume(
    path: string,
    header: JobHeader,
    check: (begun: JobHeader) => void,
  ): Promise<FileLedger> {
    return await locked(path, async (unlock) => {
      const file = await openFile(path, EXISTING);
      try {
        await checkOwn(file, path);
        const { header: begun, ...contents } = await readLedger(file, path);
        if (begun !== undefined) check(begun);
        await file.truncate(contents.size);
        const ledger = new FileLedger(path, file, { ...contents, header: begun ?? header, unlock });
        if (begun === undefined) void ledger.#append(header);
        return await ledger.#begun();
      } catch (error) {
        await file.close();
        throw error;
      }
    });
  }

  get jobId(): string {
    return this.header.jobId;
  }

  statusOf(index: number): RowStatus {
    return this.#index.states.statusOf(index);
  }

  attemptsOf(index: number): number {
    return this.#index.states.attemptsOf(index);
  }

  placeOf(index: number): string | undefined {
    return this.#index.placeOf(index);
  }

  /** Every machine on which attempts were begun, in this run and in earlier ones. */
  get places(): ReadonlySet<string> {
    return this.#index.places;
  }

  async begin({ index }: RowItem, attempt: number, place?: string): Promise<void> {
    await this.#record({ kind: "begin", index, attempt, ...defined({ host: place }) });
  }

  async retry({ index }: RowItem, attempt: number, error: string, isLost = false): Promise<void> {
    await this.#record({ kind: "retry", index, attempt, error, ...(isLost ? { lost: true } : {}) });
  }

  async settle(_item: RowItem, record: RowRecord): Promise<void> {
    await this.#record({ kind: "end", ...record });
  }

  async stop(reason: string): Promise<void> {
    this.stopReason = reason;
    await this.#append({ kind: "stop", reason });
  }

  /** The record of a row. */
  async recordOf(index: number): Promise<RowRecord | OpenRow> {
    const [status, attempts] = [this.statusOf(index), this.attemptsOf(index)];
    const offset = this.#index.offsets.get(index);
    const entry = offset === undefined ? undefined : parseEntry(await this.#reader.read(offset), this.header);
    if (status === "pending" || status === "running")
      return { status, attempts, ...(entry?.kind === "retry" ? { error: entry.error } : {}) };
    if (entry?.kind !== "end") throw new ExecError("OS_ERROR", `${this.path} changed while it was in use`);
    const { kind: _kind, ...record } = entry;
    return record;
  }

  async close(): Promise<void> {
    try {
      await this.#log.close();
    } finally {
      this.#unlock();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #begun(): Promise<this> {
    try {
      await this.#append({ kind: "run", at: new Date().toISOString(), pid: process.pid });
      return this;
    } catch (error) {
      await this.#log.close();
      throw error;
    }
  }

  /** Resolves when the entry is on disk, and counts from then on. */
  async #record(entry: LedgerEntry): Promise<void> {
    const offset = this.#log.size;
    await this.#append(entry);
    this.#index.add(entry, offset);
  }

  #append(entry: LedgerEntry): Promise<void> {
    return this.#log.append(`${JSON.stringify(entry)}\n`);
  }
}

/** Contents of a ledger. */
interface Contents {
  readonly index: LedgerIndex;
  /** End of its last complete line. */
  readonly size: number;
}

async function readLedger(file: FileHandle, path: string): Promise<Contents & { header?: JobHeader }> {
  const index = new LedgerIndex();
  let header: JobHeader | undefined;
  let size = 0;
  let number = 0;
  for await (const { text, offset, end, isComplete } of readLines(file)) {
    // A program that was killed may have left half a line, which nothing depends on.
    if (!isComplete && (header !== undefined || beginsHeader(text))) break;
    number += 1;
    const entry = parseEntry(text, header);
    if (number === 1 && isNewer(text))
      throw new UsageError(`${path} was written by a newer version; resume the job with that one`);
    if (entry === undefined || (number === 1) !== (entry.kind === "job"))
      throw new UsageError(`${path}, line ${number}: this is not the ledger of a job, or it is damaged`);
    size = end;
    if (entry.kind === "job") header = entry;
    index.add(entry, offset);
  }
  return { index, size, ...defined({ header }) };
}

async function locked(path: string, work: (unlock: () => void) => Promise<FileLedger>): Promise<FileLedger> {
  const unlock = lock(path);
  try {
    return await work(unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

function lock(path: string): () => void {
  try {
    return lockFile(`${path}.lock`);
  } catch (error) {
    throw cannotWrite(path, error);
  }
}

async function openFile(path: string, flags: string | number): Promise<FileHandle> {
  try {
    return await open(path, flags, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" && flags === EXISTING)
      throw new UsageError(`there is no job to resume: ${path} does not exist`);
    if (code === "ELOOP") throw cannotOpen(path, "it is a symbolic link; pass the file itself as --ledger");
    throw cannotOpen(path, code ?? String(error));
  }
}

/** Another program that can write to its directory may have put something else there. */
async function checkOwn(file: FileHandle, path: string): Promise<void> {
  const stats = await file.stat();
  if (!stats.isFile()) throw cannotOpen(path, "it is not a regular file");
  const user = process.geteuid?.();
  if (user !== undefined && stats.uid !== user)
    throw cannotOpen(path, `it belongs to another user (${stats.uid}), who can resume the job`);
}

function cannotOpen(path: string, why: string): UsageError {
  return new UsageError(`cannot open the ledger ${path}: ${why}`);
}
