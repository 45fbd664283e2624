import type { ErrorCode } from "../../../base/errors.ts";
import { FileError } from "../file-error.ts";

/** Runs an operation on a local file; a system error becomes a FileError that names the file. */
export async function onLocal<T>(operation: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toLocalError(error, operation, path);
  }
}

function toLocalError(error: unknown, operation: string, path: string): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || code === undefined || syscall === undefined) return error;
  // Node ends its message with the call and the path: `ENOENT: no such file or directory, open '/x'`.
  const reason = message.split(", ", 1)[0] ?? message;
  return new FileError(codeOf(code), `${operation} ${path}: ${reason}`, { path, errno: code, cause: error });
}

function codeOf(errno: string): ErrorCode {
  if (errno === "ENOENT") return "NOT_FOUND";
  return errno === "EACCES" || errno === "EPERM" ? "PERMISSION_DENIED" : "OS_ERROR";
}
