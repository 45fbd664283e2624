import { readSmallFile } from "../../shared/read-small-file.ts";
import { describeFileError } from "../../shared/describe-file-error.ts";
import { usageFailure } from "../outcome/failure.ts";

/** The token in a file. */
export function readToken(path: string): string {
  try {
    return readSmallFile(path).toString("utf8").trim();
  } catch (error) {
    throw usageFailure(`cannot read the token in ${path}: ${describeFileError(error)}`);
  }
}
