import { visibleJson, visibleLines } from "../../base/visible-text.ts";
import { type CliError, failure } from "./cli-error.ts";
import { describeFileError } from "../shared/describe-file-error.ts";
import { writeOut } from "../shared/standard-streams.ts";

/** What a shell reports for a program that SIGPIPE has ended. */
const BROKEN_PIPE_STATUS = 141;

/**
 * Prints what a command of the server's program was asked for: lines, in which names may stand as they are. A reader that
 * has left is not an error.
 */
export async function printResult(text: string): Promise<void> {
  try {
    await writeOut(visibleLines(text));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw cannotWrite(error);
    process.exitCode = BROKEN_PIPE_STATUS;
  }
}

/** The same for a value, as JSON. */
export function printResultAsJson(value: unknown): Promise<void> {
  return printResult(`${visibleJson(JSON.stringify(value, undefined, 2))}\n`);
}

/** The error of a program whose stdout takes nothing. */
export function cannotWrite(error: unknown): CliError {
  return failure(`cannot write to stdout: ${describeFileError(error)}`);
}
