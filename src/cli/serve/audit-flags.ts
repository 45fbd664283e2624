import { isTable, type Refuse } from "../../server/access/read-rights.ts";
import type { AuditOptions } from "../../server/index.ts";
import { defined } from "../shared/defined.ts";
import { usageFailure } from "../shared/failure.ts";
import type { Flags } from "./flags.ts";

export const AUDIT_FLAGS = { audit: "PATH", "audit-max-bytes": "BYTES", "audit-failure": "MODE" };

const MIN_BYTES = 4_096;
const FAILURE_MODES = ["refuse", "continue"] as const;

/** Undefined if nothing is to be recorded. Flags go before the configuration file. */
export function parseAudit(flags: Flags, configured: AuditOptions | undefined): AuditOptions | undefined {
  const file = flags.get("audit") ?? configured?.file;
  if (file === undefined) {
    const misplaced = ["audit-max-bytes", "audit-failure"].find((name) => flags.has(name));
    if (misplaced === undefined) return undefined;
    throw usageFailure(`the argument '${flags.usage(misplaced)}' needs '--audit <PATH>'`);
  }
  return {
    ...configured,
    file,
    ...defined({ maxBytes: parseMaxBytes(flags), onFailure: flags.choice("audit-failure", FAILURE_MODES) }),
  };
}

function parseMaxBytes(flags: Flags): number | undefined {
  const text = flags.get("audit-max-bytes");
  if (text === undefined) return undefined;
  const bytes = /^[0-9]{1,15}$/.test(text) ? Number(text) : 0;
  const fault = maxBytesFault(bytes);
  if (fault === undefined) return bytes;
  throw flags.invalid("audit-max-bytes", `it ${fault}`);
}

function maxBytesFault(value: unknown): string | undefined {
  return Number.isSafeInteger(value) && (value as number) >= MIN_BYTES
    ? undefined
    : `must be a number of at least ${MIN_BYTES}`;
}

/** Reads the table `audit` of a configuration file. */
export function readAudit(table: unknown, refuse: Refuse): AuditOptions {
  if (!isTable(table)) throw refuse("audit", "must be a table");
  const { file, max_bytes: maxBytes, on_failure: onFailure, ...rest } = table;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw refuse(`audit.${unknown}`, "is not a known key");
  if (typeof file !== "string" || file === "") throw refuse("audit.file", "must be the path of a file");
  const fault = maxBytes === undefined ? undefined : maxBytesFault(maxBytes);
  if (fault !== undefined) throw refuse("audit.max_bytes", fault);
  const mode = FAILURE_MODES.find((known) => known === onFailure);
  if (onFailure !== undefined && mode === undefined)
    throw refuse("audit.on_failure", `must be ${FAILURE_MODES.map((known) => `"${known}"`).join(" or ")}`);
  return defined({ file, maxBytes: maxBytes as number | undefined, onFailure: mode });
}
