import { type ErrorCode, ExecError, RpcError } from "../../base/errors.ts";
import { RpcCode } from "../../protocol/errors.ts";
import { errnoOf } from "../calls/errno.ts";

/** A file operation was refused or failed; `code` says why, and `errno` is the exact system error, if known. */
export class FileError extends ExecError {
  /** The path of the operation. */
  readonly path: string;
  /** Symbolic name of the system's error, such as `EEXIST`. */
  readonly errno: string | undefined;
  /** Error code of the server's answer; absent if the client itself refused. */
  readonly rpcCode: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { path: string; errno?: string | undefined; rpcCode?: number; cause?: unknown },
  ) {
    super(code, message, options.cause === undefined ? {} : { cause: options.cause });
    this.path = options.path;
    this.errno = options.errno;
    this.rpcCode = options.rpcCode;
  }
}

/** An operation on a path was refused, or failed, for a reason that the client knows itself. */
export function fileError(
  code: ErrorCode,
  operation: string,
  path: string,
  reason: string,
  errno?: string,
): FileError {
  return new FileError(code, `${operation} ${path}: ${reason}`, { path, errno });
}

/** Whether an error means that the path does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof FileError && error.code === "NOT_FOUND";
}

/** Undefined if the path does not exist. */
export async function ifPresent<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Settles like `answer`, with a server's error about a path as a FileError. */
export async function withFileError<T>(operation: string, path: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw toFileError(error, operation, path);
  }
}

/** Turns a server's error about a path into a FileError; other errors stay unchanged. */
export function toFileError(error: unknown, operation: string, path: string): unknown {
  if (!(error instanceof RpcError)) return error;
  const errno = errnoOf(error);
  return new FileError(codeOf(error, errno), `${operation} ${path}: ${error.message}`, {
    path,
    errno,
    rpcCode: error.rpcCode,
    cause: error,
  });
}

/** By the code in the answer. A server that sends none, such as Codex's, sends a number and a message. */
function codeOf({ code, rpcCode }: RpcError, errno: string | undefined): ErrorCode {
  if (code !== "RPC_ERROR") return code;
  switch (rpcCode) {
    case RpcCode.invalidRequest:
      return errno === "EACCES" || errno === "EPERM" ? "PERMISSION_DENIED" : "INVALID_INPUT";
    case RpcCode.internal:
      return "OS_ERROR";
    default:
      return "RPC_ERROR";
  }
}

/** Turns an error about a part into one about the file that it becomes: callers do not know about parts. */
export function aboutFile(error: unknown, part: string, path: string): unknown {
  if (!(error instanceof FileError) || error.path !== part) return error;
  const { code, errno, rpcCode } = error;
  return new FileError(code, error.message.replace(part, path), {
    path,
    errno,
    ...(rpcCode === undefined ? {} : { rpcCode }),
    cause: error,
  });
}
