import {
  ConnectionError,
  type ErrorCode,
  type ExecError,
  messageOf,
  ProtocolError,
  RpcError,
} from "../../base/errors.ts";

/** Why a session is over; without a reason, because it was closed here. */
export interface SessionEnd {
  readonly reason: string | undefined;
  /** The code of every call that fails because of it: SESSION_LOST when the server no longer had the session. */
  readonly code: ErrorCode | undefined;
}

/** What calls reject with after `close`. */
export function closedHere(): ConnectionError {
  return new ConnectionError("the exec-server client was closed");
}

/** The end of a session that could not be resumed. A server that refuses to resume it does not have it any more. */
export function unresumable(message: string, error: unknown): ExecError {
  const told = `${message}; failed to resume exec-server session: ${messageOf(error)}`;
  if (error instanceof ProtocolError) return new ProtocolError(told, { cause: error });
  if (error instanceof RpcError) return new ConnectionError(told, { cause: error, code: "SESSION_LOST" });
  const refused = error instanceof ConnectionError && error.code === "UNAUTHORIZED";
  return new ConnectionError(told, { cause: error, ...(refused ? { code: "UNAUTHORIZED" } : {}) });
}

/** The end of a process of which the server could not say what became of it. */
export function unrecovered(processId: string, error: unknown): ExecError {
  const told = `failed to recover process ${processId}: ${messageOf(error)}`;
  if (error instanceof ProtocolError) return new ProtocolError(told, { cause: error });
  return new ConnectionError(told, { cause: error });
}
