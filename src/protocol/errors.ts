/** Values of `error.code`. All but `limit` are Codex's, and clients depend on them. */
export const RpcCode = {
  /** Gates, unknown processes and sessions, ids in use, permission denied; also malformed input, with id -1. */
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  /** Failures of the machine: a spawn, an OS error, an HTTP request. */
  internal: -32603,
  notFound: -32004,
  sessionAttached: -32010,
  /** A configured limit of the server; `data` holds its name and value. */
  limit: -32011,
} as const;

export type RpcCode = (typeof RpcCode)[keyof typeof RpcCode];
