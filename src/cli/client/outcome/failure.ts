import { ConnectionError, ExecError } from "../../../base/errors.ts";
import { describeFileError } from "../../shared/describe-file-error.ts";
import { tokenRemedy } from "./token-remedy.ts";

/** The program ends with this status because of a mistake in the command line. */
export const USAGE_STATUS = 2;
/** Status of `run`, `shell` and `attach` if exec-server itself failed, so that it is not mistaken for the command's. */
export const OWN_FAILURE_STATUS = 255;

/** Ends the program with one line on stderr. */
export class Failure extends Error {
  /** Undefined if the command decides. */
  readonly exitCode: number | undefined;

  constructor(message: string, exitCode?: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A command line that cannot be meant. */
export function usageFailure(message: string): Failure {
  return new Failure(message, USAGE_STATUS);
}

/** Ends the program without a word: whoever reads knows why. */
export function silentFailure(exitCode: number): Failure {
  return new Failure("", exitCode);
}

/**
 * Turns what a command threw into its message and status. Errors that this package throws on purpose become one line;
 * undefined means a fault of the program.
 */
export function asFailure(error: unknown, exitCode: number): Failure | undefined {
  if (error instanceof Failure)
    return error.exitCode === undefined ? new Failure(error.message, exitCode) : error;
  if (isWriteError(error))
    return new Failure(`cannot write the output: ${describeFileError(error)}`, exitCode);
  if (!(error instanceof ExecError)) return undefined;
  const status = error.code === "USAGE" ? USAGE_STATUS : exitCode;
  return new Failure(withRemedy(error), status);
}

/** True if this program could not write to its own output. */
export function isWriteError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === "write";
}

function withRemedy(error: ExecError): string {
  const message = oneLine(error.message);
  if (!(error instanceof ConnectionError)) return message;
  // Another of these programs was started to reach the server, and has said why it could not.
  const [, said] = / its last words on stderr: exec-server: (.*)/.exec(message) ?? [];
  if (said !== undefined) return said;
  if (error.code === "UNAUTHORIZED") return `${message}; ${tokenRemedy()}`;
  if (error.errno === "ECONNREFUSED" || error.errno === "ENOENT")
    return `${message}; is the server running there?`;
  return message;
}

/** Joins the lines of a message. */
export function oneLine(text: string): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(" ");
}
