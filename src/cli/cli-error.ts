/** Ends the program with a message on stderr and nothing else. */
export class CliError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The command line makes no sense. */
export function usageError(message: string): CliError {
  return new CliError(`error: ${message}\n\nFor more information, try '--help'.`, 2);
}

/** It makes sense, but cannot be done. */
export function failure(message: string): CliError {
  return new CliError(`Error: ${message}`, 1);
}
