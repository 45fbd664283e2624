import { Ajv } from "ajv";
import { messageOf, UsageError } from "../../base/errors.ts";
import type { JsonValue } from "../engine/row.ts";

/** Says what is wrong with a value, in one line; undefined if it fits. */
export type CheckResult = (value: JsonValue) => string | undefined;

const MAX_NAMED = 3;

/** Prepares a JSON schema for checking results. Throws a UsageError for one that is no schema. */
export function checkerFor(schema: unknown): CheckResult {
  if (typeof schema !== "boolean" && (typeof schema !== "object" || schema === null || Array.isArray(schema)))
    throw new UsageError("the schema of results must be a JSON object");
  const check = compile(schema);
  return (value) => {
    if (check(value)) return undefined;
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

function compile(schema: boolean | object) {
  try {
    // Not strict: annotations that only other programs know are no mistake.
    return new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(schema);
  } catch (error) {
    throw new UsageError(`the schema of results cannot be used: ${messageOf(error)}`);
  }
}
