import { describeErrno } from "../../native/os-error.ts";

/** The system's words for an error of `node:fs`, without the path, which the caller's message names. */
export function describeFileError(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException;
  return code === undefined || errno === undefined ? message : describeErrno(code, Math.abs(errno));
}
