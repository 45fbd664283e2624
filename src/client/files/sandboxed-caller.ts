import type { MethodName, Params, Result } from "../../protocol/index.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";

/** Methods on files that take a sandbox. A handle keeps the one it was opened with. */
type SandboxedMethod = {
  [M in MethodName]: M extends `fs/${string}` ? ("sandbox" extends keyof Params<M> ? M : never) : never;
}[MethodName];

const SANDBOXED: Readonly<Record<SandboxedMethod, true>> = {
  "fs/readFile": true,
  "fs/open": true,
  "fs/writeFile": true,
  "fs/createDirectory": true,
  "fs/getMetadata": true,
  "fs/canonicalize": true,
  "fs/readDirectory": true,
  "fs/walk": true,
  "fs/remove": true,
  "fs/copy": true,
  "fs/rename": true,
  "fs/chmod": true,
  "fs/symlink": true,
  "fs/readLink": true,
  "fs/hash": true,
  "fs/openPart": true,
  "fs/watch": true,
};

/** A caller whose requests about files carry a sandbox. */
export class SandboxedCaller implements Caller {
  readonly #caller: Caller;
  readonly #sandbox: SandboxContext;

  constructor(caller: Caller, sandbox: SandboxContext) {
    this.#caller = caller;
    this.#sandbox = sandbox;
  }

  request<M extends MethodName>(method: M, params: Params<M>, options?: RequestOptions): Promise<Result<M>> {
    const sent = Object.hasOwn(SANDBOXED, method) ? { ...params, sandbox: this.#sandbox } : params;
    return this.#caller.request(method, sent, options);
  }
}
