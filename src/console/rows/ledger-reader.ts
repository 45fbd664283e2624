import { pause } from "../../base/deadlines.ts";
import { FileError, type Host } from "../../client/browser.ts";

/** Facts about a job from the first line of its ledger. */
export interface JobFacts {
  readonly jobId: string;
  readonly input: string;
  readonly rows: number;
  /** The work for each row. */
  readonly work: Readonly<Record<string, unknown>>;
}

/** A row that has ended. */
export interface EndedRow {
  readonly index: number;
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  /** Of the last attempt. */
  readonly durationMs: number | undefined;
  readonly exitCode: number | undefined;
  /** Where it ran. */
  readonly host: string;
  /** Why it did not succeed. */
  readonly error: string;
  /** As text; JSON if it is not text itself. Only its beginning if it is long. */
  readonly result: string;
  readonly isCut: boolean;
}

/** The states of a row; all but the last are final. */
export const ROW_STATES = ["completed", "failed", "cancelled", "lost", "running"] as const;

export interface JobProgress extends Readonly<Record<(typeof ROW_STATES)[number], number>> {
  readonly job: JobFacts;
  readonly retries: number;
  readonly stopped: string | undefined;
  /** The latest that have ended; those that failed stay longer. */
  readonly rows: readonly EndedRow[];
}

/** Rows that are not to run any more in this run. */
export function countEnded({ completed, failed, cancelled, lost }: JobProgress): number {
  return completed + failed + cancelled + lost;
}

const EVERY_MS = 1000;
const MAX_GOOD_ROWS = 5000;
const MAX_BAD_ROWS = 1000;
/** Of a result, or an error. */
const MAX_CHARACTERS = 2000;
const HEAD_BYTES = 128;
const LONGEST_LINE = 4 * 1024 * 1024;

type Entry = Readonly<Record<string, unknown>>;

/** Follows the ledger of a rows job, which only grows. */
export class LedgerReader {
  /** The first bytes, in which the id of the job is. */
  head: Uint8Array = new Uint8Array(0);
  readonly #decoder = new TextDecoder();
  #rest = "";
  #job: JobFacts | undefined;
  #stopped: string | undefined;
  #retries = 0;
  readonly #running = new Set<number>();
  /** The latest status of each row that ended; a row can end again in a later run. */
  readonly #ended = new Map<number, string>();
  readonly #counts = new Map<string, number>();
  readonly #good = new Map<number, EndedRow>();
  readonly #bad = new Map<number, EndedRow>();

  /** Takes the next bytes of the file. Throws an Error if it is not a ledger. */
  push(bytes: Uint8Array): void {
    if (this.head.length < HEAD_BYTES)
      this.head = Uint8Array.of(...this.head, ...bytes.subarray(0, HEAD_BYTES - this.head.length));
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#rest = lines.pop()!;
    if (this.#rest.length > LONGEST_LINE) throw new Error("this is not the ledger of a rows job");
    for (const line of lines) this.#take(parsed(line));
  }

  /** Undefined before the first line is complete. */
  get progress(): JobProgress | undefined {
    if (this.#job === undefined) return undefined;
    return {
      job: this.#job,
      running: this.#running.size,
      completed: this.#counts.get("completed") ?? 0,
      failed: this.#counts.get("failed") ?? 0,
      cancelled: this.#counts.get("cancelled") ?? 0,
      lost: this.#counts.get("lost") ?? 0,
      retries: this.#retries,
      stopped: this.#stopped,
      rows: [...this.#bad.values(), ...this.#good.values()],
    };
  }

  #take(entry: Entry | undefined): void {
    if (this.#job === undefined) {
      this.#job = jobOf(entry);
      return;
    }
    const index = Number(entry?.["index"]);
    switch (entry?.["kind"]) {
      case "run":
        this.#running.clear();
        this.#stopped = undefined;
        break;
      case "begin":
        this.#running.add(index);
        this.#forget(index);
        break;
      case "retry":
        this.#running.delete(index);
        this.#retries += 1;
        break;
      case "end":
        this.#end(index, entry);
        break;
      case "stop":
        this.#stopped = text(entry["reason"]);
        break;
      default:
    }
  }

  /** A row that runs again has no outcome. */
  #forget(index: number): void {
    const before = this.#ended.get(index);
    if (before === undefined) return;
    this.#counts.set(before, this.#counts.get(before)! - 1);
    this.#ended.delete(index);
    this.#good.delete(index);
    this.#bad.delete(index);
  }

  #end(index: number, entry: Entry): void {
    const status = text(entry["status"]);
    this.#running.delete(index);
    this.#forget(index);
    this.#ended.set(index, status);
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
    const [rows, most] = status === "completed" ? [this.#good, MAX_GOOD_ROWS] : [this.#bad, MAX_BAD_ROWS];
    rows.set(index, endedRow(index, status, entry));
    if (rows.size > most) rows.delete(rows.keys().next().value!);
  }
}

function endedRow(index: number, status: string, entry: Entry): EndedRow {
  const result = resultText(entry["result"]);
  const error = text(entry["error"]);
  return {
    index,
    id: text(entry["id"]),
    status,
    attempts: number(entry["attempts"]) ?? 0,
    durationMs: number(entry["durationMs"]),
    exitCode: number(entry["exitCode"]),
    host: text(entry["host"]),
    error: beginning(error),
    result: beginning(result),
    isCut: Math.max(error.length, result.length) > MAX_CHARACTERS,
  };
}

function resultText(result: unknown): string {
  if (typeof result === "string") return result;
  try {
    return JSON.stringify(result) ?? "";
  } catch {
    return "(nested too deeply to be shown)";
  }
}

/** A copy: a part of a string would keep all of it in memory. */
function beginning(whole: string): string {
  if (whole.length <= MAX_CHARACTERS) return whole;
  return JSON.parse(JSON.stringify(whole.slice(0, MAX_CHARACTERS))) as string;
}

interface FollowOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: JobProgress) => void;
  /** Nothing is recorded yet. */
  readonly onEmpty: () => void;
  /** Whether a file that does not exist is about to be created. */
  readonly isExpected: () => boolean;
}

/**
 * Reads the ledger, and then what is appended to it, until the signal is aborted. A job that starts over replaces it.
 * Throws if the file cannot be read.
 */
export async function followLedger(
  { files }: Pick<Host, "files">,
  path: string,
  { signal, onProgress, onEmpty, isExpected }: FollowOptions,
): Promise<void> {
  let reader = new LedgerReader();
  let offset = 0;
  let modifiedMs: number | undefined;
  const startOver = (): void => {
    reader = new LedgerReader();
    offset = 0;
  };
  for (; !signal.aborted; await pause(EVERY_MS, signal)) {
    const stat = await files.stat(path, { signal }).catch((error: unknown) => {
      const isMissing = error instanceof FileError && error.code === "NOT_FOUND";
      if (isMissing && isExpected()) return undefined;
      throw error;
    });
    if (stat === undefined) {
      startOver();
      onEmpty();
      continue;
    }
    const { size, kind, modified } = stat;
    // Devices and pipes have no size, so nothing would ever be read.
    if (kind !== "file") throw new Error(`the ledger of a job is a regular file, and ${path} is not`);
    if (size === 0) onEmpty();
    if (size === offset && modified?.getTime() === modifiedMs) continue;
    modifiedMs = modified?.getTime();
    if (size < offset || !(await beginsWith(files, path, reader.head, signal))) startOver();
    for await (const bytes of files.readStream(path, { offset, signal })) {
      reader.push(bytes);
      offset += bytes.length;
      if (reader.progress !== undefined) onProgress(reader.progress);
      await nextTask();
    }
  }
}

/** Whether a file is still the one that begins so: each job has an id of its own. */
async function beginsWith(
  files: Host["files"],
  path: string,
  head: Uint8Array,
  signal: AbortSignal,
): Promise<boolean> {
  if (head.length === 0) return true;
  let at = 0;
  for await (const bytes of files.readStream(path, { length: head.length, signal }))
    for (const byte of bytes) {
      if (byte !== head[at]) return false;
      at += 1;
    }
  return at === head.length;
}

/** Lets the page draw and answer between pieces of a long file. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

function parsed(line: string): Entry | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Entry) : undefined;
  } catch {
    return undefined;
  }
}

function jobOf(entry: Entry | undefined): JobFacts {
  const input = entry?.["input"] as Readonly<Record<string, unknown>> | undefined;
  if (entry?.["kind"] !== "job" || typeof input?.["rows"] !== "number")
    throw new Error("this is not the ledger of a rows job");
  return {
    jobId: text(entry["jobId"]),
    input: text(input["path"]),
    rows: input["rows"],
    work: (entry["work"] ?? {}) as Readonly<Record<string, unknown>>,
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function number(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}
