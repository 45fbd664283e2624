import type { AuditOptions } from "../../server/index.ts";
import { usageError } from "./cli-error.ts";

export const AUDIT_FLAGS = { audit: "PATH", "audit-max-bytes": "BYTES", "audit-failure": "MODE" };

const MIN_BYTES = 4_096;
const FAILURE_MODES = ["refuse", "continue"] as const;

/** Undefined if nothing is to be recorded. Flags go before the configuration file. */
export function parseAudit(
  flags: ReadonlyMap<string, string>,
  configured: AuditOptions | undefined,
): AuditOptions | undefined {
  const file = flags.get("audit") ?? configured?.file;
  const maxBytes = flags.get("audit-max-bytes");
  const onFailure = flags.get("audit-failure");
  if (file === undefined) {
    if (maxBytes === undefined && onFailure === undefined) return undefined;
    const name = maxBytes === undefined ? "audit-failure <MODE>" : "audit-max-bytes <BYTES>";
    throw usageError(`the argument '--${name}' needs '--audit <PATH>'`);
  }
  return {
    ...configured,
    file,
    ...(maxBytes === undefined ? {} : { maxBytes: parseBytes(maxBytes) }),
    ...(onFailure === undefined ? {} : { onFailure: parseMode(onFailure) }),
  };
}

function parseBytes(text: string): number {
  const bytes = /^[0-9]{1,15}$/.test(text) ? Number(text) : 0;
  const fault = maxBytesFault(bytes);
  if (fault === undefined) return bytes;
  throw usageError(`invalid value '${text}' for '--audit-max-bytes <BYTES>': it ${fault}`);
}

function parseMode(text: string): "refuse" | "continue" {
  const mode = FAILURE_MODES.find((known) => known === text);
  if (mode !== undefined) return mode;
  throw usageError(
    `invalid value '${text}' for '--audit-failure <MODE>': expected ${FAILURE_MODES.join(", ")}`,
  );
}

function maxBytesFault(value: unknown): string | undefined {
  return Number.isSafeInteger(value) && (value as number) >= MIN_BYTES
    ? undefined
    : `must be a number of at least ${MIN_BYTES}`;
}

/** The table `audit` of a configuration file. `refuse` makes the error for a key. */
export function auditOf(table: unknown, refuse: (key: string, why: string) => Error): AuditOptions {
  if (typeof table !== "object" || table === null || Array.isArray(table) || table instanceof Date)
    throw refuse("audit", "must be a table");
  const { file, max_bytes: maxBytes, on_failure: onFailure, ...rest } = table as Record<string, unknown>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw refuse(`audit.${unknown}`, "is not a known key");
  if (typeof file !== "string" || file === "") throw refuse("audit.file", "must be the path of a file");
  const fault = maxBytes === undefined ? undefined : maxBytesFault(maxBytes);
  if (fault !== undefined) throw refuse("audit.max_bytes", fault);
  const mode = FAILURE_MODES.find((known) => known === onFailure);
  if (onFailure !== undefined && mode === undefined)
    throw refuse("audit.on_failure", `must be ${FAILURE_MODES.map((known) => `"${known}"`).join(" or ")}`);
  return {
    file,
    ...(maxBytes === undefined ? {} : { maxBytes: maxBytes as number }),
    ...(mode === undefined ? {} : { onFailure: mode }),
  };
}
