import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { ExecError, UsageError } from "../../base/errors.ts";
import type { RowItem, RowRecord, RowStatus } from "../engine/row.ts";
import type { RowLedger } from "../engine/row-ledger.ts";
import { RowStates } from "../engine/row-states.ts";
import { AppendFile, cannotWrite } from "./append-file.ts";
import { BegunPlaces } from "./begun-places.ts";
import { beginsHeader, isNewer, type JobHeader, type LedgerEntry, parseEntry } from "./ledger-entries.ts";
import { LineOffsets } from "./line-offsets.ts";
import { lockFile } from "./lock-file.ts";
import { LineReader, readLines } from "./read-lines.ts";

const NEW = "ax+";
/** Anything but a file is refused, and a pipe is not waited for. */
const EXISTING = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** What is known about a row that has not ended. */
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
  readonly #states: RowStates;
  readonly #offsets: LineOffsets;
  readonly #places: BegunPlaces;
  readonly #reader: LineReader;

  private constructor(
    path: string,
    file: FileHandle,
    {
      header,
      states,
      offsets,
      places,
      size,
      unlock,
    }: Found & { readonly header: JobHeader; readonly unlock: () => void },
  ) {
    this.path = path;
    this.header = header;
    this.#log = new AppendFile(file, { path, size, sync: true });
    this.#unlock = unlock;
    this.#states = states;
    this.#offsets = offsets;
    this.#places = places;
    this.#reader = new LineReader(file);
  }

  /** Begins a job. There must be no file of that name. */
  static async create(path: string, header: JobHeader): Promise<FileLedger> {
    return await locked(path, async (unlock) => {
      const file = await openFile(path, NEW);
      const ledger = new FileLedger(path, file, { ...nothing(), header, size: 0, unlock });
      void ledger.#append(header);
      return await ledger.#begun();
    });
  }

  /**
   * Continues a job, after `check` has accepted what it was. If a program was killed before it had recorded what the job
   * is, nothing has begun, and the job is the one of `header`.
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
        const found = await readLedger(file, path);
        const begun = found.header;
        if (begun !== undefined) check(begun);
        await file.truncate(found.size);
        const ledger = new FileLedger(path, file, { ...found, header: begun ?? header, unlock });
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
    return this.#states.status(index);
  }

  attemptsOf(index: number): number {
    return this.#states.attempts(index);
  }

  placeOf(index: number): string | undefined {
    return this.#places.get(index);
  }

  /** Every machine on which attempts were begun, in this run and in earlier ones. */
  get places(): ReadonlySet<string> {
    return this.#places.all;
  }

  async begin({ index }: RowItem, attempt: number, place?: string): Promise<void> {
    await this.#append({ kind: "begin", index, attempt, ...(place === undefined ? {} : { host: place }) });
    this.#states.set(index, "running", attempt);
    this.#places.begin(index, place);
  }

  async retry({ index }: RowItem, attempt: number, error: string, isLost = false): Promise<void> {
    this.#offsets.set(index, this.#log.size);
    await this.#append({ kind: "retry", index, attempt, error, ...(isLost ? { lost: true } : {}) });
    this.#states.set(index, "pending", attempt);
    this.#places.end(index);
  }

  async settle({ index }: RowItem, record: RowRecord): Promise<void> {
    this.#offsets.set(index, this.#log.size);
    await this.#append({ kind: "end", ...record });
    this.#states.set(index, record.status, record.attempts);
    this.#places.end(index);
  }

  async stop(reason: string): Promise<void> {
    this.stopReason = reason;
    await this.#append({ kind: "stop", reason });
  }

  /** What is recorded about a row. */
  async recordOf(index: number): Promise<RowRecord | OpenRow> {
    const status = this.#states.status(index);
    const attempts = this.#states.attempts(index);
    const offset = this.#offsets.get(index);
    const entry = offset === undefined ? undefined : parseEntry(await this.#reader.read(offset), this.header);
    if (status === "pending" || status === "running")
      return { status, attempts, ...(entry?.kind === "retry" ? { error: entry.error } : {}) };
    if (entry?.kind !== "end") throw new ExecError("OS_ERROR", `${this.path} has changed while it was used`);
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

  #append(entry: LedgerEntry): Promise<void> {
    return this.#log.append(`${JSON.stringify(entry)}\n`);
  }
}

/** What a ledger says. */
interface Found {
  readonly states: RowStates;
  readonly offsets: LineOffsets;
  readonly places: BegunPlaces;
  /** Where its last complete line ends. */
  readonly size: number;
}

function nothing(): Omit<Found, "size"> {
  return { states: new RowStates(), offsets: new LineOffsets(), places: new BegunPlaces() };
}

async function readLedger(file: FileHandle, path: string): Promise<Found & { header?: JobHeader }> {
  const { states, offsets, places } = nothing();
  let header: JobHeader | undefined;
  let size = 0;
  let number = 0;
  for await (const { text, offset, isComplete } of readLines(file)) {
    // A program that was killed may have left half a line, which nothing depends on.
    if (!isComplete && (header !== undefined || beginsHeader(text))) break;
    number += 1;
    const entry = parseEntry(text, header);
    if (number === 1 && isNewer(text))
      throw new UsageError(`${path} was written by a newer version; resume the job with that one`);
    if (entry === undefined || (number === 1) !== (entry.kind === "job"))
      throw new UsageError(`${path}, line ${number}: this is not the ledger of a job, or it is damaged`);
    size = offset + Buffer.byteLength(text) + 1;
    if (entry.kind === "job") header = entry;
    else if (entry.kind === "begin") {
      states.set(entry.index, "running", entry.attempt);
      places.begin(entry.index, entry.host);
    } else if (entry.kind === "retry" || entry.kind === "end") {
      places.end(entry.index);
      offsets.set(entry.index, offset);
      if (entry.kind === "retry") states.set(entry.index, "pending", entry.attempt);
      else states.set(entry.index, entry.status, entry.attempts);
    }
  }
  return { states, offsets, places, size, ...(header === undefined ? {} : { header }) };
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
    if (code === "ELOOP") throw cannotOpen(path, "it is a symbolic link; give the file itself as --ledger");
    throw cannotOpen(path, code ?? String(error));
  }
}

/** Whoever can write to its directory may have put something else there. */
async function checkOwn(file: FileHandle, path: string): Promise<void> {
  const found = await file.stat();
  if (!found.isFile()) throw cannotOpen(path, "it is not a regular file");
  const user = process.geteuid?.();
  if (user !== undefined && found.uid !== user)
    throw cannotOpen(path, `it belongs to another user (${found.uid}), who can resume the job`);
}

function cannotOpen(path: string, why: string): UsageError {
  return new UsageError(`cannot open the ledger ${path}: ${why}`);
}
