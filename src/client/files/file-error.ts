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

/** By the code in the answer. A server that sends none, such as Codex's, has a number and a message. */
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

/** An error about a part, as one about the file that it becomes: nobody who gave a path knows of its part. */
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
