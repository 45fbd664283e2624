import { computed } from "@preact/signals";
import { isAllowed, serverLink } from "../connection/server-link.ts";
import { pathFromUri } from "../frame/paths.ts";

/** The only directories that the person may see; undefined if there are no such limits. */
export const roots = computed(() => {
  const told = serverLink.rights.value?.roots?.map(pathFromUri).filter((path) => path !== undefined);
  return told === undefined || told.length === 0 ? undefined : told;
});

export function isWithinReach(path: string): boolean {
  return roots.value?.some((root) => root === "/" || path === root || path.startsWith(`${root}/`)) ?? true;
}

/** Whether the person may change files. */
export function mayWrite(): boolean {
  return isAllowed("writeFiles");
}

/** Whether the person may start processes. */
export function mayStart(): boolean {
  return isAllowed("start");
}
