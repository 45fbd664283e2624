import { FileError } from "../file-error.ts";

/** The source is empty, so that everything in the destination would be deleted. */
export class EmptySourceError extends FileError {}

export function emptySource(operation: string, path: string): FileError {
  return new EmptySourceError(
    "INVALID_INPUT",
    `${operation} ${path}: it is empty, so everything in the destination would be deleted`,
    { path },
  );
}

export function pathTooLong(operation: string, path: string): FileError {
  return new FileError("OS_ERROR", `${operation} ${path}: the path is too long`, {
    path,
    errno: "ENAMETOOLONG",
  });
}
