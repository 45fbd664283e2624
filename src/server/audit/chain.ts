import { hash as hashOf } from "node:crypto";

/** `prev` of the first line of all. */
export const NO_HASH = "0".repeat(64);
/** Maximum length of a line: writers truncate its contents, and readers may refuse longer ones. */
export const MAX_LINE_BYTES = 1024 * 1024;

/** The last line of a log: stored elsewhere, it reveals whether the log was changed or truncated. */
export interface AuditHead {
  /** Number of the line; 0 before the first. */
  readonly line: number;
  /** SHA-256 in hexadecimal. */
  readonly hash: string;
}

/** The printed form, which `audit verify --head` takes. */
export function formatHead({ line, hash }: AuditHead): string {
  return `${line}:${hash}`;
}

export const NO_LINES: AuditHead = { line: 0, hash: NO_HASH };

/** `,"hash":"…"}` at the end of each line. The hash covers all bytes before it. */
const SEAL_BYTES = 9 + 64 + 2;
const SEAL = /^,"hash":"([0-9a-f]{64})"\}$/;
const HASH = /^[0-9a-f]{64}$/;

/** A line as it was read, without its line feed. */
export interface ReadLine {
  readonly n: number;
  readonly prev: string;
  readonly hash: string;
  /** Whether its hash matches its content. */
  readonly fits: boolean;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Undefined for anything that is not an audit log line. */
export function readLine(bytes: Buffer): ReadLine | undefined {
  const covered = bytes.length - SEAL_BYTES;
  if (covered <= 0 || bytes.length > MAX_LINE_BYTES) return undefined;
  const [, hash] = SEAL.exec(bytes.toString("latin1", covered)) ?? [];
  if (hash === undefined) return undefined;
  const facts = parseObject(bytes.toString("utf8"));
  const { n, prev } = facts ?? {};
  if (facts === undefined || !Number.isSafeInteger(n) || typeof prev !== "string" || !HASH.test(prev))
    return undefined;
  return { n: n as number, prev, hash, fits: hashOf("sha256", bytes.subarray(0, covered)) === hash, facts };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
