import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { CapabilityError, messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { resultOr } from "../../native/result-or.ts";
import { redactArgv } from "../audit/redact.ts";
import type { ObservedProcess, ServerObserver } from "../settings/observer.ts";

/** Lines of ended processes after which the file is written anew, and their length. */
const MAX_ENDED_LINES = 4_096;
const MAX_ENDED_BYTES = 4 * 1024 * 1024;
/** Lost processes that are remembered, the newest ones. */
const MAX_LOST = 1_024;

/** A process, as the journal has it. */
export interface JournalEntry {
  readonly startedAt: string;
  readonly process: string;
  readonly pid: number;
  readonly principal: string;
  readonly connection: number;
  readonly argv: readonly string[];
}

/** One whose keeper was killed: nobody knows how it has ended. */
export interface LostProcess extends JournalEntry {
  readonly lostAt: string;
}

type Line =
  | { readonly event: "start"; readonly n: number; readonly entry: JournalEntry }
  | { readonly event: "end"; readonly n: number }
  | { readonly event: "lost"; readonly entry: LostProcess };

/** A file that holds what runs, so that what runs when a keeper is killed is known to be lost. */
export class Journal implements ServerObserver {
  readonly #path: string;
  readonly #logger: Logger;
  #fd: number;
  readonly #running = new Map<number, JournalEntry>();
  readonly #numbers = new WeakMap<ObservedProcess, number>();
  #lost: readonly LostProcess[];
  #last = 0;
  #endedLines = 0;
  /** Length of the lines since the file was written anew. */
  #newBytes = 0;
  /** Lines are missing in the file. */
  #isTorn = false;

  /** Processes that ran when the keeper before was killed. */
  readonly newlyLost: readonly LostProcess[];

  /** Throws the system's error if the file cannot be written, and a CapabilityError if it cannot be read. */
  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
    const { lost, running } = readJournal(path);
    const lostAt = new Date().toISOString();
    this.newlyLost = running.map((entry) => ({ ...entry, lostAt }));
    this.#lost = [...lost, ...this.newlyLost].slice(-MAX_LOST);
    this.#fd = this.#renew();
  }

  processStarted(process: ObservedProcess): void {
    const { processId, pid, argv, connection } = process;
    const { principal, number } = connection;
    this.#last += 1;
    const entry: JournalEntry = {
      startedAt: new Date().toISOString(),
      process: processId,
      pid,
      principal,
      connection: number,
      argv: redactArgv(argv).argv,
    };
    this.#numbers.set(process, this.#last);
    this.#running.set(this.#last, entry);
    this.#write({ event: "start", n: this.#last, entry });
  }

  processEnded(process: ObservedProcess): void {
    const n = this.#numbers.get(process);
    if (n === undefined || !this.#running.delete(n)) return;
    this.#endedLines += 1;
    this.#write({ event: "end", n });
  }

  close(): void {
    closeSync(this.#fd);
  }

  #write(line: Line): void {
    try {
      const isLong = this.#newBytes > MAX_ENDED_BYTES && this.#endedLines > this.#running.size;
      if (this.#isTorn || isLong || this.#endedLines > MAX_ENDED_LINES) {
        const before = this.#fd;
        this.#fd = this.#renew();
        closeSync(before);
        this.#endedLines = 0;
        this.#newBytes = 0;
        this.#isTorn = false;
      } else {
        const text = `${JSON.stringify(line)}\n`;
        const bytes = Buffer.byteLength(text);
        this.#newBytes += bytes;
        if (writeSync(this.#fd, text) < bytes) throw new Error("no space left for the whole line");
      }
    } catch (error) {
      // It is written anew with the next line. What runs goes on.
      if (!this.#isTorn)
        this.#logger.warn("the journal cannot be written", { file: this.#path, reason: messageOf(error) });
      this.#isTorn = true;
    }
  }

  /** Writes everything that still matters into a new file, which takes the place of the old one. */
  #renew(): number {
    const lines: Line[] = [
      ...this.#lost.map((entry) => ({ event: "lost", entry }) as const),
      ...Array.from(this.#running, ([n, entry]) => ({ event: "start", n, entry }) as const),
    ];
    const path = `${this.#path}.new`;
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""), { mode: 0o600 });
    const fd = openSync(path, "a");
    renameSync(path, this.#path);
    return fd;
  }
}

/**
 * What a journal holds. A line that was not written to its end, or not by a keeper, is left out. Throws a CapabilityError
 * if it cannot be read.
 */
export function readJournal(path: string): {
  readonly lost: readonly LostProcess[];
  readonly running: readonly JournalEntry[];
} {
  const running = new Map<number, JournalEntry>();
  const lost: LostProcess[] = [];
  for (const line of linesOf(path)) {
    if (line.event === "start") running.set(line.n, line.entry);
    else if (line.event === "end") running.delete(line.n);
    else lost.push(line.entry);
  }
  return { lost, running: [...running.values()] };
}

function linesOf(path: string): Line[] {
  return readText(path)
    .split("\n")
    .flatMap((text) => {
      const line = resultOr(undefined, () => JSON.parse(text) as unknown);
      return isLine(line) ? [line] : [];
    });
}

/** Somebody may have put something there that is not a file, and would never end. */
function readText(path: string): string {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!fstatSync(fd).isFile()) throw new Error("it is not a file");
    return readFileSync(fd, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw new CapabilityError("OS_ERROR", `cannot read the journal ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function isLine(value: unknown): value is Line {
  if (typeof value !== "object" || value === null) return false;
  const { event, n, entry } = value as Partial<Record<"event" | "n" | "entry", unknown>>;
  if (event === "end") return typeof n === "number";
  if (event === "start") return typeof n === "number" && isEntry(entry);
  return event === "lost" && isEntry(entry) && typeof (entry as Partial<LostProcess>).lostAt === "string";
}

function isEntry(value: unknown): value is JournalEntry {
  if (typeof value !== "object" || value === null) return false;
  const { startedAt, process, pid, principal, connection, argv } = value as Partial<JournalEntry>;
  return (
    [startedAt, process, principal].every((text) => typeof text === "string") &&
    [pid, connection].every((number) => Number.isSafeInteger(number)) &&
    Array.isArray(argv) &&
    argv.every((word) => typeof word === "string")
  );
}
