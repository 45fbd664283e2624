/** Ends the program with only a message on stderr. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** An invalid command line. */
export function usageError(message: string): CliError {
  return new CliError(`error: ${message}\n\nFor more information, try '--help'.`, 2);
}

/** A valid command line that cannot be carried out. */
export function failure(message: string): CliError {
  return new CliError(`Error: ${message}`, 1);
}
