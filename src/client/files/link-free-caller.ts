import type { MethodName, Params, Result } from "../../protocol/index.ts";
import type { Caller, RequestOptions } from "../calls/caller.ts";

const NO_LINKS = { noLinks: true };

/** What keeps a method that changes files from going through links. */
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
export class LinkFreeCaller implements Caller {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  request<M extends MethodName>(method: M, params: Params<M>, options?: RequestOptions): Promise<Result<M>> {
    return this.#caller.request(method, { ...params, ...WITHOUT_LINKS[method] }, options);
  }
}
