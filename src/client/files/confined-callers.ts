import type { MethodName, Params } from "../../protocol/index.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";
import type { Caller } from "../calls/caller.ts";
import { isSandboxed } from "../calls/method-facts.ts";

const NO_LINKS = { noLinks: true };

/** Parameters that keep methods that change files from following links. */
const WITHOUT_LINKS: { readonly [M in MethodName]?: Partial<Params<M>> } = {
  "fs/open": NO_LINKS,
  "fs/openPart": NO_LINKS,
  "fs/writeFile": NO_LINKS,
  "fs/createDirectory": { followSymlinks: false },
  "fs/remove": NO_LINKS,
  "fs/rename": NO_LINKS,
  "fs/chmod": NO_LINKS,
  "fs/symlink": NO_LINKS,
};

/** A caller that changes files only by paths without links, on a server that announces `noLinks`. */
export function linkFreeCaller(caller: Caller): Caller {
  return {
    request: (method, params, options) =>
      caller.request(method, { ...params, ...WITHOUT_LINKS[method] }, options),
  };
}

/** A caller whose requests about files carry a sandbox. */
export function sandboxedCaller(caller: Caller, sandbox: SandboxContext): Caller {
  return {
    request: (method, params, options) =>
      caller.request(method, isSandboxed(method) ? { ...params, sandbox } : params, options),
  };
}
