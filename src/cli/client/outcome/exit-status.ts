import type { ExitReport } from "../../../client/routes/process-events.ts";
import { SpawnError } from "../../../client/process/spawn-error.ts";
import { Failure, OWN_FAILURE_STATUS } from "../../shared/failure.ts";

export const TIMED_OUT_STATUS = 124;
const NOT_EXECUTABLE_STATUS = 126;
const NOT_FOUND_STATUS = 127;
/** Longer names are not hinted at. */
const MAX_LINE = 200;

/** The status of this program for a command that has ended. */
export function statusOf({ exitCode, timedOut }: ExitReport): number {
  if (timedOut === true) return TIMED_OUT_STATUS;
  return exitCode ?? OWN_FAILURE_STATUS;
}

/** Throws a Failure for a program that no shell would find. */
export function checkProgram([program]: readonly string[]): void {
  if (program === "") throw new Failure("'': command not found", NOT_FOUND_STATUS);
}

/** The failure of a program that did not start; undefined for any other error. */
export function failedStart(error: unknown): Failure | undefined {
  if (!(error instanceof SpawnError)) return undefined;
  switch (error.reason) {
    case "notFound":
      return new Failure(`${error.program}: command not found${shellHint(error.program)}`, NOT_FOUND_STATUS);
    case "notExecutable":
      return new Failure(`${error.program}: not executable`, NOT_EXECUTABLE_STATUS);
    case "noSuchDirectory":
      return new Failure(`${error.cwd}: no such directory; choose another with --cwd`, OWN_FAILURE_STATUS);
    default:
      return undefined;
  }
}

/** Quoting a whole line asks for a shell, as ssh has one. */
function shellHint(program: string): string {
  const isLine = program.length <= MAX_LINE && /^\S+(?: +\S+)+$/.test(program);
  return isLine ? "; no shell reads the line: pass each word by itself, or use sh -c 'LINE'" : "";
}
