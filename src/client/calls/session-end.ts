import {
  ConnectionError,
  type ErrorCode,
  type ExecError,
  messageOf,
  ProtocolError,
  RpcError,
} from "../../base/errors.ts";

/** Why a session is over; without a reason if it was closed here. */
export interface SessionEnd {
  readonly reason: string | undefined;
  /** Code of every call that fails because of it: SESSION_LOST if the server no longer had the session. */
  readonly code: ErrorCode | undefined;
}

/** The error of calls after `close`. */
export function closedHere(): ConnectionError {
  return new ConnectionError("the exec-server client was closed");
}

/** The end of a session that could not be resumed. A server that refuses to resume it no longer has it. */
export function unresumable(message: string, error: unknown): ExecError {
  const text = `${message}; failed to resume exec-server session: ${messageOf(error)}`;
  if (error instanceof ProtocolError) return new ProtocolError(text, { cause: error });
  if (error instanceof RpcError) return new ConnectionError(text, { cause: error, code: "SESSION_LOST" });
  const refused = error instanceof ConnectionError && error.code === "UNAUTHORIZED";
  return new ConnectionError(text, { cause: error, ...(refused ? { code: "UNAUTHORIZED" } : {}) });
}

/** The end of a process whose fate the server could not report. */
export function unrecovered(processId: string, error: unknown): ExecError {
  const text = `failed to recover process ${processId}: ${messageOf(error)}`;
  if (error instanceof ProtocolError) return new ProtocolError(text, { cause: error });
  return new ConnectionError(text, { cause: error });
}
