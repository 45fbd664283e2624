import { UsageError } from "../../base/errors.ts";
import { shorten } from "../../base/shorten.ts";
import {
  type CheckedToolDefinition,
  execCommandDefinition,
  type ToolParameter,
  writeStdinDefinition,
} from "./definitions.ts";

/** Arguments of `exec_command`: a command line for a shell, or an argument vector. */
export interface ExecCommandArgs {
  readonly cmd?: string | null;
  readonly argv?: readonly string[] | null;
  readonly workdir?: string | null;
  readonly shell?: string | null;
  readonly login?: boolean | null;
  readonly tty?: boolean | null;
  readonly yield_time_ms?: number | null;
  readonly max_output_tokens?: number | null;
  readonly env?: Readonly<Record<string, string>> | null;
}

/** Arguments of `write_stdin`. */
export interface WriteStdinArgs {
  readonly session_id: number;
  readonly chars?: string | null;
  readonly yield_time_ms?: number | null;
  readonly max_output_tokens?: number | null;
}

/** Throws a UsageError that tells the model what to change. */
export function parseExecCommandArgs(args: unknown): ExecCommandArgs {
  // The schema describes the type.
  const requested = checkArguments(execCommandDefinition, args) as ExecCommandArgs;
  const name = execCommandDefinition.name;
  if ((requested.cmd ?? undefined) !== undefined && (requested.argv ?? undefined) !== undefined)
    throw new UsageError(`${name}: cmd and argv exclude each other; choose one`);
  if (requested.argv !== undefined && requested.argv !== null) {
    if (requested.argv.length === 0 || requested.argv[0] === "")
      throw new UsageError(`${name}: argv must begin with the program to run`);
    if ((requested.shell ?? requested.login ?? undefined) !== undefined)
      throw new UsageError(`${name}: shell and login need cmd; argv is run without a shell`);
  } else if ((requested.cmd ?? "").trim() === "") {
    throw new UsageError(`${name}: cmd is missing; it is the command line to run`);
  }
  return requested;
}

/** Throws a UsageError that tells the model what to change. */
export function parseWriteStdinArgs(args: unknown): WriteStdinArgs {
  // The schema describes the type.
  return checkArguments(writeStdinDefinition, args) as unknown as WriteStdinArgs;
}

/**
 * Checks arguments, or their JSON text, against the schema that the model got. Null counts as absent. Throws a
 * UsageError that tells the model what to change.
 */
export function checkArguments(definition: CheckedToolDefinition, args: unknown): Record<string, unknown> {
  const { name, parameters } = definition;
  const requested = typeof args === "string" ? parseJson(name, args) : args;
  if (typeof requested !== "object" || requested === null || Array.isArray(requested))
    throw new UsageError(`${name}: the arguments must be an object, not ${describe(requested)}`);
  const values = requested as Record<string, unknown>;
  for (const [key, value] of Object.entries(values)) {
    const parameter = Object.hasOwn(parameters.properties, key) ? parameters.properties[key] : undefined;
    if (parameter === undefined)
      throw new UsageError(
        `${name}: there is no argument ${JSON.stringify(key)}; it takes ${Object.keys(parameters.properties).join(", ")}`,
      );
    const wanted = value === null || value === undefined ? undefined : refuse(parameter, value);
    if (wanted !== undefined)
      throw new UsageError(`${name}: ${key} must be ${wanted}, not ${describe(value)}`);
  }
  for (const key of parameters.required)
    if ((values[key] ?? undefined) === undefined) throw new UsageError(`${name}: ${key} is missing`);
  return values;
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${name}: the arguments are not JSON: ${(cause as Error).message}`);
  }
}

/** The expected type, if the value does not match. */
function refuse(parameter: ToolParameter, value: unknown): string | undefined {
  const isString = (item: unknown): boolean => typeof item === "string";
  switch (parameter.type) {
    case "string":
      return isString(value) ? undefined : "a string";
    case "boolean":
      return typeof value === "boolean" ? undefined : "true or false";
    case "number":
      return Number.isFinite(value) ? undefined : "a number";
    case "integer": {
      const { minimum = Number.NEGATIVE_INFINITY } = parameter;
      if (Number.isSafeInteger(value) && (value as number) >= minimum) return undefined;
      return Number.isFinite(minimum) ? `a whole number of at least ${minimum}` : "a whole number";
    }
    case "array":
      return Array.isArray(value) && value.every(isString) ? undefined : "a list of strings";
    case "object": {
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
      if (parameter.additionalProperties === undefined) return isObject ? undefined : "an object";
      return isObject && Object.values(value).every(isString)
        ? undefined
        : "an object whose values are strings";
    }
  }
}

/** A short description of any value; deep values and those that JSON cannot represent only by kind. */
function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  let text: string;
  try {
    text = JSON.stringify(value) ?? typeof value;
  } catch {
    text = Array.isArray(value) ? "such a list" : `such a ${typeof value}`;
  }
  return shorten(text, 60);
}
