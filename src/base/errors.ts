import { defined } from "./defined.ts";
import type { ErrorCode, SpawnFailure } from "./error-codes.ts";

export type { ErrorCode, SpawnFailure } from "./error-codes.ts";

/** Root of every error that this package throws on purpose. */
export class ExecError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/** The machine refused or failed: a system call, a missing program, input that the system cannot accept. */
export class CapabilityError extends ExecError {
  /** Symbolic name of the system's error, such as `EACCES`. */
  readonly errno: string | undefined;
  /** Why a program did not start, with SPAWN_FAILED. */
  readonly reason: SpawnFailure | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options?: { cause?: unknown; errno?: string | undefined; reason?: SpawnFailure | undefined },
  ) {
    super(code, message, options);
    this.errno = options?.errno;
    this.reason = options?.reason;
  }
}

/** An error response on the wire: thrown by a handler to send it, and by a client that received it. */
export class RpcError extends ExecError {
  readonly rpcCode: number;
  readonly data: unknown;

  constructor(
    rpcCode: number,
    message: string,
    options?: { data?: unknown; cause?: unknown; code?: ErrorCode },
  ) {
    super(options?.code ?? "RPC_ERROR", message, options);
    this.rpcCode = rpcCode;
    this.data = options?.data;
  }
}

/** What a lost connection can mean for a call; see `ConnectionError`. */
export type ConnectionErrorCode = Extract<
  ErrorCode,
  | "CONNECTION_CLOSED"
  | "CONNECTION_REFUSED"
  | "UNKNOWN_HOST"
  | "SESSION_LOST"
  | "EFFECT_UNKNOWN"
  | "UNAUTHORIZED"
  | "TIMED_OUT"
  | "SPAWN_FAILED"
>;

/** What errors of the system mean for a connection. A missing socket is one on which nobody listens. */
const CODES: ReadonlyMap<string | undefined, ConnectionErrorCode> = new Map([
  ["ECONNREFUSED", "CONNECTION_REFUSED"],
  ["ENOENT", "CONNECTION_REFUSED"],
  ["ENOTFOUND", "UNKNOWN_HOST"],
  ["EAI_AGAIN", "UNKNOWN_HOST"],
]);

/**
 * No answer will arrive. CONNECTION_CLOSED: the transport failed or was closed. SESSION_LOST: the server no longer has
 * the session, and nothing in it can be recovered. EFFECT_UNKNOWN: the session continues, but the answer to this call
 * was lost, and the call must not be repeated. While connecting also CONNECTION_REFUSED, UNKNOWN_HOST, UNAUTHORIZED,
 * TIMED_OUT, and SPAWN_FAILED for a command that did not start.
 */
export class ConnectionError extends ExecError {
  declare readonly code: ConnectionErrorCode;
  /** HTTP status with which the server refused the connection. */
  readonly status: number | undefined;
  /** Symbolic name of the system's error, such as `ECONNREFUSED`, if there was one. */
  readonly errno: string | undefined;
  /** Why the command of a server did not start, with SPAWN_FAILED. */
  readonly reason: SpawnFailure | undefined;

  constructor(
    message: string,
    options?: {
      cause?: unknown;
      status?: number;
      code?: ConnectionErrorCode;
      errno?: string | undefined;
      reason?: SpawnFailure | undefined;
    },
  ) {
    const { code, status, errno } = options ?? {};
    const implied = status === 401 ? "UNAUTHORIZED" : CODES.get(errno);
    super(code ?? implied ?? "CONNECTION_CLOSED", message, options);
    this.status = status;
    this.errno = errno;
    this.reason = options?.reason;
  }
}

/** The single wording for a lost connection. */
export function disconnected(reason: string | undefined, cause?: ProtocolError): ConnectionError {
  const why = reason === undefined ? "" : `: ${reason}`;
  return new ConnectionError(`exec-server transport disconnected${why}`, defined({ cause }));
}

/** The peer violated the protocol. */
export class ProtocolError extends ExecError {
  constructor(message: string, options?: { cause?: unknown }) {
    super("PROTOCOL_ERROR", message, options);
  }
}

/** The caller's mistake, found before anything is done. */
export class UsageError extends ExecError {
  constructor(message: string) {
    super("USAGE", message);
  }
}

/** Message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
