import type { Sandbox } from "../protocol/sandbox-options.ts";
import { isTable, readRights, readSandbox, readUser, RIGHTS_KEYS } from "../server/access/read-rights.ts";
import type { RightsOptions } from "../server/access/rights.ts";
import { LIMIT_NAMES, limitFault, limitKey, type ServerLimits } from "../server/limits.ts";
import type { AuditOptions } from "../server/index.ts";
import { auditOf } from "./audit-flags.ts";
import { type CliError, failure } from "./cli-error.ts";
import { describeFileError } from "./describe-file-error.ts";
import { readSmallFile } from "./read-small-file.ts";
import type { Edge } from "./edge-flags.ts";
import { EDGE_KEYS, edgeOf } from "./edge-keys.ts";

const NAME_OF_KEY = new Map(LIMIT_NAMES.map((name) => [limitKey(name), name]));

/** What a configuration file can set. */
export interface Configuration extends Edge {
  readonly limits: Partial<ServerLimits>;
  readonly sandbox?: Sandbox;
  readonly requireSandbox?: boolean;
  /** As whom everything happens that clients ask for. */
  readonly runAs?: string;
  readonly audit?: AuditOptions;
  /** Whether the web console is served. */
  readonly console?: boolean;
  /** Rights of clients without authentication. */
  readonly local?: RightsOptions;
}

type Refuse = (key: string, why: string) => CliError;

const KEYS = ["limits", "sandbox", "require_sandbox", "run_as", "local", "audit", "console", ...EDGE_KEYS];

/** Reads a configuration file. Anything in it that is not known is an error. */
export async function readConfiguration(path: string): Promise<Configuration> {
  const text = readText(path);
  const file = await parseToml(path, text);
  const refuse: Refuse = (key, why) => failure(`${path}:${lineOf(text, key) ?? 1}: ${key} ${why}`);
  for (const key of Object.keys(file)) if (!KEYS.includes(key)) throw refuse(key, "is not a known key");
  const {
    limits = {},
    sandbox,
    require_sandbox: requireSandbox,
    run_as: runAs,
    local,
    audit,
    console,
  } = file;
  if (requireSandbox !== undefined && typeof requireSandbox !== "boolean")
    throw refuse("require_sandbox", "must be true or false");
  if (console !== undefined && typeof console !== "boolean") throw refuse("console", "must be true or false");
  return {
    limits: limitsOf(limits, refuse),
    ...(sandbox === undefined ? {} : { sandbox: readSandbox(sandbox, "sandbox", refuse) }),
    ...(requireSandbox === undefined ? {} : { requireSandbox }),
    ...(runAs === undefined ? {} : { runAs: readUser(runAs, refuse) }),
    ...(local === undefined ? {} : { local: localRights(local, refuse) }),
    ...(console === undefined ? {} : { console }),
    ...edgeOf(file, refuse),
    ...(audit === undefined ? {} : { audit: auditOf(audit, refuse) }),
  };
}

function localRights(table: unknown, refuse: Refuse): RightsOptions {
  if (!isTable(table)) throw refuse("local", "must be a table");
  const refuseLocal: Refuse = (key, why) => refuse(`local.${key}`, why);
  for (const key of Object.keys(table))
    if (!RIGHTS_KEYS.includes(key)) throw refuseLocal(key, "is not a known key");
  return readRights(table, refuseLocal);
}

function limitsOf(table: unknown, refuse: Refuse): Partial<ServerLimits> {
  if (!isTable(table)) throw refuse("limits", "must be a table");
  const limits: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(table)) {
    const name = NAME_OF_KEY.get(key);
    if (name === undefined) throw refuse(`limits.${key}`, "is not a known key");
    const fault = limitFault(name, value);
    if (fault !== undefined) throw refuse(`limits.${key}`, fault);
    limits[name] = value;
  }
  return limits;
}

function readText(path: string): string {
  try {
    return readSmallFile(path).toString("utf8");
  } catch (error) {
    throw failure(`failed to read the configuration ${path}: ${describeFileError(error)}`);
  }
}

async function parseToml(path: string, text: string): Promise<Record<string, unknown>> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [summary = ""] = error.message.split("\n");
    throw failure(`${path}:${error.line}:${error.column}: ${summary}`);
  }
}

/** Line of a key, found by its last part, because the parser does not report it. Undefined for unusual spellings. */
function lineOf(text: string, key: string): number | undefined {
  const last = key.split(".").at(-1) ?? key;
  const isKey = (line: string): boolean => {
    if (!line.includes("=") && !line.includes("]")) return false;
    const [written] = line.replaceAll(/[\s"'[\]]/g, "").split("=", 1);
    return written === last || written === key;
  };
  const index = text.split("\n").findIndex(isKey);
  return index < 0 ? undefined : index + 1;
}
