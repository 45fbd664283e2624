import { ExecError } from "../../base/errors.ts";

/**
 * An event of a row could not be recorded. As after the end of the program, attempts that can be taken over are left
 * for the run that resumes the job.
 */
export class RecordError extends ExecError {}

/** Waits for something to be recorded. */
export async function recorded<T>(recording: Promise<T>): Promise<T> {
  try {
    return await recording;
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    throw new RecordError(error.code, error.message, { cause: error });
  }
}
