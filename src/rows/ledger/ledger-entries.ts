import type { JsonValue, RowRecord } from "../engine/row.ts";

/** The first line of a ledger: what the job is. A job is resumed only if all of this is the same. */
export interface JobHeader {
  readonly kind: "job";
  readonly version: 1;
  readonly jobId: string;
  readonly input: { readonly path: string; readonly sha256: string; readonly rows: number };
  /** What is done with each row, by the names that messages use. */
  readonly work: Readonly<Record<string, JsonValue>>;
  readonly at: string;
}

/** One line of a ledger. */
export type LedgerEntry =
  | JobHeader
  /** The job is run, or resumed. */
  | { readonly kind: "run"; readonly at: string; readonly pid: number }
  /** An attempt begins. */
  | { readonly kind: "begin"; readonly index: number; readonly attempt: number }
  /** An attempt has failed, and another one follows. */
  | { readonly kind: "retry"; readonly index: number; readonly attempt: number; readonly error: string }
  /** A row has ended. */
  | ({ readonly kind: "end" } & RowRecord)
  /** Nothing more begins in this run. */
  | { readonly kind: "stop"; readonly reason: string };

/** Parses a line. Undefined if it is not one of a ledger. */
export function parseEntry(line: string): LedgerEntry | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const entry = value as Partial<Record<string, unknown>>;
  switch (entry["kind"]) {
    case "job":
      return entry["version"] === 1 && typeof entry["jobId"] === "string" ? (value as JobHeader) : undefined;
    case "run":
    case "stop":
      return value as LedgerEntry;
    case "begin":
    case "retry":
      return isIndex(entry["index"]) && isIndex(entry["attempt"]) ? (value as LedgerEntry) : undefined;
    case "end":
      return isIndex(entry["index"]) && isIndex(entry["attempts"]) ? (value as LedgerEntry) : undefined;
    default:
      return undefined;
  }
}

function isIndex(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
