import { ERROR_CODES, type ErrorCode } from "../../base/error-codes.ts";

/** Ends the program with only a message on stderr. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(message: string, code: ErrorCode) {
    super(message);
    this.exitCode = ERROR_CODES[code].exitCode;
  }
}

/** An invalid command line. */
export function usageError(message: string): CliError {
  return new CliError(`error: ${message}\n\nFor more information, try '--help'.`, "USAGE");
}

/** A valid command line that cannot be carried out. */
export function failure(message: string): CliError {
  return new CliError(`Error: ${message}`, "OS_ERROR");
}
