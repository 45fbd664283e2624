import { ConnectionError, RpcError } from "../../base/errors.ts";
import { RpcCode } from "../../protocol/errors.ts";

/** What a Codex server answers when its own side of a connection is going away. */
const TRANSPORT_CLOSED_CODE = -32000;

/** Tells whether another try to resume a session may not meet this error. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.status === undefined || isTransientStatus(error.status);
  if (error instanceof RpcError)
    return error.rpcCode === RpcCode.sessionAttached || error.rpcCode === TRANSPORT_CLOSED_CODE;
  return error instanceof DOMException && error.name === "TimeoutError";
}

function isTransientStatus(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}
