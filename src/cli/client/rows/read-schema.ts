import type { JsonValue } from "../../../rows/engine/row.ts";
import { describeFileError } from "../../shared/describe-file-error.ts";
import { readSmallFile } from "../../shared/read-small-file.ts";
import { usageFailure } from "../outcome/failure.ts";

/** Reads a JSON schema. */
export function readSchema(path: string): JsonValue {
  let text: string;
  try {
    text = readSmallFile(path).toString();
  } catch (error) {
    throw usageFailure(`cannot read the schema ${path}: ${describeFileError(error)}`);
  }
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw usageFailure(`the schema ${path} is not JSON`);
  }
}
