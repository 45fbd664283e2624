import { createContext, Script } from "node:vm";
import { Ajv, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { formatDuration } from "../../base/duration.ts";
import { messageOf, UsageError } from "../../base/errors.ts";
import type { JsonValue } from "../engine/row.ts";

/** Describes in one line what is wrong with a value; undefined if it is valid. */
export type CheckResult = (value: JsonValue) => string | undefined;

const MAX_NAMED = 3;
/** A pattern, or a long list whose items must differ, can take practically forever. */
const MAX_CHECK_MS = 1_000;

/** Prepares a JSON schema for checking results. Throws a UsageError if it is not a valid schema. */
export function checkerFor(schema: unknown): CheckResult {
  if (typeof schema !== "boolean" && (typeof schema !== "object" || schema === null || Array.isArray(schema)))
    throw new UsageError("the result schema must be a JSON object");
  const check = compile(schema);
  const isValid = withinTime(check);
  return (value) => {
    const fits = isValid(value);
    if (fits === undefined) return `checking it takes longer than ${formatDuration(MAX_CHECK_MS)}`;
    if (fits) return undefined;
    const errors = check.errors ?? [];
    const named = errors
      .slice(0, MAX_NAMED)
      .map(
        ({ instancePath, message = "does not fit" }) =>
          `${instancePath === "" ? "it" : instancePath} ${message}`,
      );
    const more = errors.length - named.length;
    return `${named.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
  };
}

/** Checks values, but gives up after a while with undefined. Only the engine can interrupt a regular expression. */
function withinTime(check: ValidateFunction): (value: JsonValue) => boolean | undefined {
  const script = new Script("check()");
  let value: JsonValue;
  const context = createContext({ check: () => check(value) });
  return (result) => {
    value = result;
    try {
      return script.runInContext(context, { timeout: MAX_CHECK_MS }) as boolean;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return undefined;
      throw error;
    }
  };
}

function compile(schema: boolean | object) {
  try {
    // Not strict: annotations for other programs are allowed.
    return new (versionOf(schema))({ strict: false, allErrors: true, validateFormats: false }).compile(
      schema,
    );
  } catch (error) {
    throw new UsageError(`the result schema cannot be used: ${messageOf(error)}`);
  }
}

/** The version of JSON schema that a schema names. */
function versionOf(schema: boolean | object) {
  const name = typeof schema === "object" && "$schema" in schema ? String(schema.$schema) : "";
  if (name.includes("/2020-12/")) return Ajv2020;
  return name.includes("/2019-09/") ? Ajv2019 : Ajv;
}
