import { UsageError } from "../base/errors.ts";
import { uriFromPath } from "../base/file-uri.ts";
import { SandboxContext } from "../protocol/sandbox.ts";
import { type Sandbox, sandboxContext } from "../protocol/sandbox-options.ts";
import { describeIssue } from "../rpc/describe-issue.ts";
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
  readonly audit?: AuditOptions;
}

type Refuse = (key: string, why: string) => CliError;

const KEYS = ["limits", "sandbox", "require_sandbox", "audit", ...EDGE_KEYS];

/** Reads a configuration file. Anything in it that is not known is an error. */
export async function readConfiguration(path: string): Promise<Configuration> {
  const text = readText(path);
  const file = await parseToml(path, text);
  const refuse: Refuse = (key, why) => failure(`${path}:${lineOf(text, key) ?? 1}: ${key} ${why}`);
  for (const key of Object.keys(file)) if (!KEYS.includes(key)) throw refuse(key, "is not a known key");
  const { limits = {}, sandbox, require_sandbox: requireSandbox, audit } = file;
  if (requireSandbox !== undefined && typeof requireSandbox !== "boolean")
    throw refuse("require_sandbox", "must be true or false");
  return {
    limits: limitsOf(limits, refuse),
    ...(sandbox === undefined ? {} : { sandbox: sandboxOf(sandbox, refuse) }),
    ...(requireSandbox === undefined ? {} : { requireSandbox }),
    ...edgeOf(file, refuse),
    ...(audit === undefined ? {} : { audit: auditOf(audit, refuse) }),
  };
}

/** As in the library: a table, the name of a preset, or a context of the wire. */
function sandboxOf(value: unknown, refuse: Refuse): Sandbox {
  if (!isTable(value) && typeof value !== "string")
    throw refuse("sandbox", "must be a table or the name of a preset");
  try {
    const context = sandboxContext(value as Sandbox, uriFromPath(process.cwd()));
    const parsed = SandboxContext().safeParse(context);
    if (parsed.success) return value as Sandbox;
    throw refuse(
      "sandbox",
      `is no context of the protocol: ${describeIssue(parsed.error, context, "sandbox")}`,
    );
  } catch (error) {
    if (error instanceof UsageError) throw refuse("sandbox", `is invalid: ${error.message}`);
    throw error;
  }
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

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
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
