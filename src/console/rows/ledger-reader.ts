import { pause } from "../../base/deadlines.ts";
import type { Host } from "../../client/browser.ts";

/** Facts about a job from the first line of its ledger. */
export interface JobFacts {
  readonly jobId: string;
  readonly input: string;
  readonly rows: number;
  /** The work for each row. */
  readonly work: Readonly<Record<string, unknown>>;
}

/** A row that failed, was cancelled or is lost. */
export interface BadRow {
  readonly index: number;
  readonly id: string | undefined;
  readonly status: string;
  readonly attempts: number;
  readonly error: string;
}

/** The states of a row; all but the last are final. */
export const ROW_STATES = ["completed", "failed", "cancelled", "lost", "running"] as const;

export interface JobProgress extends Readonly<Record<(typeof ROW_STATES)[number], number>> {
  readonly job: JobFacts;
  readonly retries: number;
  readonly stopped: string | undefined;
  /** The latest ones, the newest first. */
  readonly badRows: readonly BadRow[];
}

const EVERY_MS = 1000;
const MAX_FAILED_ROWS = 200;
const LONGEST_LINE = 4 * 1024 * 1024;

type Entry = Readonly<Record<string, unknown>>;

/** Follows the ledger of a rows job, which only grows. */
export class LedgerReader {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #job: JobFacts | undefined;
  #stopped: string | undefined;
  #retries = 0;
  readonly #running = new Set<number>();
  /** The latest status of each row that ended; a row can end again in a later run. */
  readonly #ended = new Map<number, string>();
  readonly #counts = new Map<string, number>();
  readonly #bad = new Map<number, BadRow>();

  /** Takes the next bytes of the file. Throws an Error if it is not a ledger. */
  push(bytes: Uint8Array): void {
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
      badRows: [...this.#bad.values()].reverse(),
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
        this.#setStatus(index, undefined);
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

  #setStatus(index: number, status: string | undefined): void {
    const before = this.#ended.get(index);
    if (before !== undefined) this.#counts.set(before, this.#counts.get(before)! - 1);
    if (status === undefined) {
      this.#ended.delete(index);
      return;
    }
    this.#ended.set(index, status);
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
  }

  #end(index: number, entry: Entry): void {
    const status = text(entry["status"]);
    this.#running.delete(index);
    this.#setStatus(index, status);
    this.#bad.delete(index);
    if (status === "completed") return;
    this.#bad.set(index, {
      index,
      id: typeof entry["id"] === "string" ? entry["id"] : undefined,
      status,
      attempts: Number(entry["attempts"] ?? 0),
      error: text(entry["error"]),
    });
    if (this.#bad.size > MAX_FAILED_ROWS) this.#bad.delete(this.#bad.keys().next().value!);
  }
}

interface FollowOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: JobProgress) => void;
  /** The file is there, and nothing is in it yet. */
  readonly onEmpty: () => void;
}

/**
 * Reads the ledger, and then what is appended to it, until the signal is aborted. Throws if the file cannot be read.
 */
export async function followLedger(
  host: Host,
  path: string,
  { signal, onProgress, onEmpty }: FollowOptions,
): Promise<void> {
  const reader = new LedgerReader();
  for (let offset = 0; !signal.aborted; await pause(EVERY_MS, signal)) {
    const { size, kind } = await host.files.stat(path, { signal });
    // Devices and pipes have no size, so nothing would ever be read.
    if (kind !== "file") throw new Error(`the ledger of a job is a regular file, and ${path} is not`);
    if (size < offset) throw new Error("the ledger was replaced by a shorter file");
    if (size === 0) onEmpty();
    if (size === offset) continue;
    for await (const bytes of host.files.readStream(path, { offset, signal })) {
      reader.push(bytes);
      offset += bytes.length;
      if (reader.progress !== undefined) onProgress(reader.progress);
      await nextTask();
    }
  }
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
