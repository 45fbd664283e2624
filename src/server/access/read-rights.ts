import { UsageError } from "../../base/errors.ts";
import { uriFromPath } from "../../base/file-uri.ts";
import { SandboxContext } from "../../protocol/sandbox.ts";
import { type Sandbox, sandboxContext } from "../../protocol/sandbox-options.ts";
import { describeIssue } from "../../rpc/describe-issue.ts";
import { limitFault, limitKey } from "../settings/limits.ts";
import { PRESETS } from "../settings/presets.ts";
import { PRINCIPAL_LIMITS, type PrincipalLimits, type RightsOptions } from "../settings/rights-options.ts";

/** Keys of rights in a file, or in the claim of a signed token. */
export const RIGHTS_KEYS = [
  "preset",
  "policy",
  "roots",
  "read_only",
  "limits",
  "secrets",
  "run_as",
  "see",
  "control",
];

/** Makes the error about a key. */
export type Refuse = (key: string, why: string) => Error;

type Table = Readonly<Record<string, unknown>>;

/** Reads rights from a file or a claim. Other keys are ignored here. */
export function readRights(table: Table, refuse: Refuse): RightsOptions {
  const { preset, policy, roots, read_only: readOnly, limits, secrets, run_as: runAs, see, control } = table;
  const known = PRESETS.find((name) => name === preset);
  if (known === undefined) throw refuse("preset", `must be one of ${PRESETS.join(", ")}`);
  if (readOnly !== undefined && typeof readOnly !== "boolean")
    throw refuse("read_only", "must be true or false");
  return {
    preset: known,
    ...(policy === undefined ? {} : { policy: readSandbox(policy, "policy", refuse) }),
    ...(roots === undefined ? {} : { roots: absolutePaths(roots, refuse) }),
    ...(readOnly === undefined ? {} : { readOnly }),
    ...(limits === undefined ? {} : { limits: ownLimits(limits, refuse) }),
    ...(secrets === undefined ? {} : { secrets: secretNames(secrets, refuse) }),
    ...(runAs === undefined ? {} : { runAs: readUser(runAs, refuse) }),
    ...(see === undefined ? {} : { see: names("see", see, refuse) }),
    ...(control === undefined ? {} : { control: names("control", control, refuse) }),
  };
}

/** A sandbox as in the library: a table, the name of a preset, or a context of the wire. */
export function readSandbox(value: unknown, key: string, refuse: Refuse): Sandbox {
  if (!isTable(value) && typeof value !== "string")
    throw refuse(key, "must be a table or the name of a preset");
  try {
    const context = sandboxContext(value as Sandbox, uriFromPath(process.cwd()));
    const parsed = SandboxContext().safeParse(context);
    if (parsed.success) return value as Sandbox;
    throw refuse(key, `is not a valid sandbox context: ${describeIssue(parsed.error, context, "sandbox")}`);
  } catch (error) {
    if (error instanceof UsageError) throw refuse(key, `is invalid: ${error.message}`);
    throw error;
  }
}

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** A user: a name, or a number as text or not. */
export function readUser(value: unknown, refuse: Refuse): string {
  if (typeof value === "string" && value !== "") return value;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return String(value);
  throw refuse("run_as", "must be the name or number of a user");
}

function absolutePaths(value: unknown, refuse: Refuse): string[] {
  const isPath = (path: unknown): boolean => typeof path === "string" && /^\/[^\0]*$/.test(path);
  if (Array.isArray(value) && value.length > 0 && value.every(isPath)) return value as string[];
  throw refuse("roots", "must be a list of absolute paths");
}

function names(key: string, value: unknown, refuse: Refuse): string[] {
  const isName = (name: unknown): boolean => typeof name === "string" && /^[\x21-\x7e]{1,1024}$/.test(name);
  if (Array.isArray(value) && value.every(isName)) return value as string[];
  throw refuse(key, 'must be a list of names of tokens, or ["*"]');
}

function secretNames(value: unknown, refuse: Refuse): string[] {
  const isName = (name: unknown): boolean =>
    typeof name === "string" && /^[A-Za-z_][\w.-]{0,127}$/.test(name);
  if (Array.isArray(value) && value.every(isName)) return value as string[];
  throw refuse("secrets", "must be a list of names of the server's secrets");
}

function ownLimits(value: unknown, refuse: Refuse): PrincipalLimits {
  if (!isTable(value)) throw refuse("limits", "must be a table");
  const limits: Record<string, unknown> = {};
  for (const [key, limit] of Object.entries(value)) {
    const name = PRINCIPAL_LIMITS.find((known) => limitKey(known) === key);
    if (name === undefined)
      throw refuse(`limits.${key}`, `is not one of the limits ${PRINCIPAL_LIMITS.map(limitKey).join(", ")}`);
    const fault = limitFault(name, limit);
    if (fault !== undefined) throw refuse(`limits.${key}`, fault);
    limits[name] = limit;
  }
  return limits;
}
