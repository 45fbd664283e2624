import type * as z from "zod";
import { shorten } from "../base/shorten.ts";
import { describeJsonType } from "../protocol/envelope.ts";

const MAX_QUOTED_CHARACTERS = 64;

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  boolean: "a boolean",
  number: "a number",
  int: "an integer",
  array: "a sequence",
  record: "a map",
};

/** Describes invalid parameters in the wording that Codex clients know. Reports only the first fault. */
export function describeIssue(error: z.ZodError, params: unknown, method: string): string {
  const issue = error.issues[0];
  if (issue === undefined) return "invalid params";
  const input = valueAt(params, issue.path);
  const name = issue.path.at(-1);
  if (input === undefined && name !== undefined) return `missing field \`${quote(String(name))}\``;
  switch (issue.code) {
    case "invalid_type":
      return `invalid type: ${describeFound(input)}, expected ${describeExpected(issue, method)}`;
    case "invalid_value":
      if (typeof input !== "string") return `invalid type: ${describeFound(input)}, expected a variant`;
      return `unknown variant \`${quote(input)}\`, expected ${describeVariants(issue.values)}`;
    case "unrecognized_keys":
    case "invalid_union":
      return `invalid type: ${describeFound(input)}, expected ${name === undefined ? "unit" : "another shape"}`;
    default:
      return issue.message;
  }
}

function describeExpected(issue: z.core.$ZodIssueInvalidType, method: string): string {
  if (issue.expected === "object") return issue.path.length === 0 ? `struct ${structName(method)}` : "a map";
  return EXPECTED[issue.expected] ?? issue.expected;
}

function structName(method: string): string {
  const words = method.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("") + "Params";
}

function describeFound(input: unknown): string {
  return typeof input === "string" ? `string ${JSON.stringify(quote(input))}` : describeJsonType(input);
}

function describeVariants(values: readonly unknown[]): string {
  const quoted = values.map((value) => `\`${String(value)}\``);
  if (quoted.length === 1) return quoted[0]!;
  return quoted.length === 2 ? quoted.join(" or ") : `one of ${quoted.join(", ")}`;
}

function quote(text: string): string {
  return shorten(text, MAX_QUOTED_CHARACTERS);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const key of path)
    current = (current as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key];
  return current;
}
