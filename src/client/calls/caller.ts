import type { MethodName, Params, Result } from "../../protocol/index.ts";

/** Options of every request. */
export interface RequestOptions {
  /** Stops waiting. The server may still do the work. */
  readonly signal?: AbortSignal;
}

/** The same, for callers that may have no signal. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Typed access to the wire, for everything built on it. */
export interface Caller {
  /** Rejects with the server's RpcError, a ConnectionError if no answer will come, or the signal's reason. */
  request<M extends MethodName>(method: M, params: Params<M>, options?: RequestOptions): Promise<Result<M>>;
}
