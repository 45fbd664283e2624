import { ConnectionError, RpcError } from "../../base/errors.ts";
import { RpcCode } from "../../protocol/errors.ts";

/** True for transient errors of resuming a session. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.status === undefined || isTransientStatus(error.status);
  if (error instanceof RpcError) return error.rpcCode === RpcCode.sessionAttached;
  return error instanceof DOMException && error.name === "TimeoutError";
}

function isTransientStatus(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}
