import type { JsonValue, RowRecord } from "../engine/row.ts";

/** The first line of a ledger: what the job is. A job is resumed only if all of this is the same. */
export interface JobHeader {
  readonly kind: "job";
  readonly version: 1;
  readonly jobId: string;
  readonly input: { readonly path: string; readonly sha256: string; readonly rows: number };
  /** The work for each row, by the names that messages use. */
  readonly work: Readonly<Record<string, JsonValue>>;
  readonly at: string;
}

/** One line of a ledger. */
export type LedgerEntry =
  | JobHeader
  /** The job is run, or resumed. */
  | { readonly kind: "run"; readonly at: string; readonly pid: number }
  /** An attempt begins, on this machine if there are several. */
  | { readonly kind: "begin"; readonly index: number; readonly attempt: number; readonly host?: string }
  /** An attempt has failed, or was lost with its machine, and another one follows. */
  | {
      readonly kind: "retry";
      readonly index: number;
      readonly attempt: number;
      readonly error: string;
      readonly lost?: true;
    }
  /** A row has ended. */
  | ({ readonly kind: "end" } & RowRecord)
  /** This run starts nothing more. */
  | { readonly kind: "stop"; readonly reason: string };

const VERSION = 1;
const BEGINNING = '{"kind":"job"';
const END_STATUSES = new Set<unknown>(["completed", "failed", "cancelled", "lost"]);

/** Whether truncated text can be the first line of a ledger. */
export function beginsHeader(text: string): boolean {
  return text.startsWith(BEGINNING) || BEGINNING.startsWith(text);
}

/** Whether the first line of a ledger is from a newer version. */
export function isNewer(line: string): boolean {
  const { kind, version } = membersOf(line) ?? {};
  return kind === "job" && typeof version === "number" && version > VERSION;
}

/** Parses a line of a job, whose header is known after the first one. Undefined if it is not a ledger line. */
export function parseEntry(line: string, job: JobHeader | undefined): LedgerEntry | undefined {
  const entry = membersOf(line);
  if (entry === undefined || !isEntry(entry, job?.input.rows ?? 0)) return undefined;
  return entry as unknown as LedgerEntry;
}

type Members = Readonly<Partial<Record<string, unknown>>>;

function membersOf(line: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isEntry(entry: Members, rows: number): boolean {
  const { kind, index, attempt, attempts, status } = entry;
  switch (kind) {
    case "job":
      return isHeader(entry);
    case "run":
    case "stop":
      return true;
    case "begin":
    case "retry":
      return isCount(index) && index < rows && isCount(attempt) && isOptionalText(entry["host"]);
    case "end":
      return isCount(index) && index < rows && isCount(attempts) && END_STATUSES.has(status);
    default:
      return false;
  }
}

function isHeader({ version, jobId, input, work }: Members): boolean {
  return (
    version === VERSION &&
    typeof jobId === "string" &&
    isObject(input) &&
    typeof input["sha256"] === "string" &&
    isCount(input["rows"]) &&
    isObject(work)
  );
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null;
}

function isOptionalText(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
