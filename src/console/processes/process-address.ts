import type { ListedProcess } from "../../client/browser.ts";
import { serverLink } from "../connection/server-link.ts";
import { below, pathTo } from "../frame/router.ts";

/** Which kept process is meant. */
export interface ProcessAddress {
  readonly name: string;
  /** Undefined if it is one's own. */
  readonly owner?: string | undefined;
}

/** What names a listed process; undefined if it ends with its connection, so that nobody else can open it. */
export function addressOf({ name, owner }: ListedProcess): ProcessAddress | undefined {
  if (name === undefined) return undefined;
  return owner === serverLink.rights.value?.principal ? { name } : { name, owner };
}

/** Where a process is shown: its terminal, or its output. */
export function pathOf({ name, owner }: ProcessAddress, { tty }: { readonly tty: boolean }): string {
  return pathTo(tty ? "/t" : "/p", owner === undefined ? name : `${owner}/${name}`);
}

/** The process of a path. Owners may have slashes, names have none. */
export function addressAt(path: string): ProcessAddress | undefined {
  const given = below("/p", path);
  if (given === undefined || given === "") return undefined;
  const slash = given.lastIndexOf("/");
  return { name: given.slice(slash + 1), ...(slash < 0 ? {} : { owner: given.slice(0, slash) }) };
}

/** Whether a listed process is the one of an address. */
export function isAt(listed: ListedProcess, { name, owner }: ProcessAddress): boolean {
  return (
    listed.name === name &&
    (owner === undefined ? addressOf(listed)?.owner === undefined : listed.owner === owner)
  );
}
