import type { ListedProcess } from "../../client/browser.ts";
import { serverLink } from "../connection/server-link.ts";
import { below, pathTo } from "../frame/router.ts";

/** Address of a kept process. */
export interface ProcessAddress {
  readonly name: string;
  /** Undefined for the user's own. */
  readonly owner?: string | undefined;
}

/** Address of a listed process; undefined if it ends with its connection, so that others cannot open it. */
export function addressOf({
  name,
  owner,
}: Pick<ListedProcess, "name" | "owner">): ProcessAddress | undefined {
  if (name === undefined) return undefined;
  return owner === serverLink.rights.value?.principal ? { name } : { name, owner };
}

/** Path of a process in the page: its terminal, or its output. */
export function pathOf({ name, owner }: ProcessAddress, { tty }: { readonly tty: boolean }): string {
  return pathTo(tty ? "/t" : "/p", owner === undefined ? name : `${owner}/${name}`);
}

/** The process of a path. Owners may have slashes, names have none. */
export function addressAt(path: string): ProcessAddress | undefined {
  const ownerAndName = below("/p", path);
  if (ownerAndName === undefined || ownerAndName === "") return undefined;
  const slash = ownerAndName.lastIndexOf("/");
  const name = ownerAndName.slice(slash + 1);
  return slash < 0 ? { name } : { name, owner: ownerAndName.slice(0, slash) };
}

/** Whether a listed process is the one of an address. */
export function matchesAddress(listed: ListedProcess, { name, owner }: ProcessAddress): boolean {
  if (listed.name !== name) return false;
  return owner === undefined ? addressOf(listed)?.owner === undefined : listed.owner === owner;
}
