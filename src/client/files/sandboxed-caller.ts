import type { MethodName, Params, Result } from "../../protocol/index.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";
import { isSandboxed } from "../calls/method-facts.ts";

/** A caller whose requests about files carry a sandbox. */
export class SandboxedCaller implements Caller {
  readonly #caller: Caller;
  readonly #sandbox: SandboxContext;

  constructor(caller: Caller, sandbox: SandboxContext) {
    this.#caller = caller;
    this.#sandbox = sandbox;
  }

  request<M extends MethodName>(method: M, params: Params<M>, options?: RequestOptions): Promise<Result<M>> {
    const sent = isSandboxed(method) ? { ...params, sandbox: this.#sandbox } : params;
    return this.#caller.request(method, sent, options);
  }
}
