import type { MethodName, Params, Result } from "../../protocol/index.ts";

/** What every request takes. */
export interface RequestOptions {
  /** Gives up waiting. The server may have done the work all the same. */
  readonly signal?: AbortSignal;
}

/** The typed way down to the wire, for all that is built on it. */
export interface Caller {
  /** Rejects with an RpcError that the server gave, a ConnectionError when no answer will come, or the signal's reason. */
  request<M extends MethodName>(method: M, params: Params<M>, options?: RequestOptions): Promise<Result<M>>;
}
