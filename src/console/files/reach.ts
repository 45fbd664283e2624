import { computed } from "@preact/signals";
import { isAllowed, serverLink } from "../connection/server-link.ts";
import { pathFromUri } from "../frame/paths.ts";

/** The only directories that the user may see; undefined without such limits. */
export const roots = computed(() => {
  const paths = serverLink.rights.value?.roots?.map(pathFromUri).filter((path) => path !== undefined);
  return paths === undefined || paths.length === 0 ? undefined : paths;
});

/** The directory of the server, or another one that is within reach. */
export const startDirectory = computed(
  () => reachable("cwd") ?? reachable("userHomeDir") ?? roots.value?.[0] ?? "/",
);

/** The home of the server's user, if it is within reach. */
export const homeDirectory = computed(() => reachable("userHomeDir") ?? startDirectory.value);

function reachable(name: "cwd" | "userHomeDir"): string | undefined {
  const path = pathFromUri(serverLink.host.value?.environment?.[name]);
  return path !== undefined && isWithinReach(path) ? path : undefined;
}

export function isWithinReach(path: string): boolean {
  return roots.value?.some((root) => root === "/" || path === root || path.startsWith(`${root}/`)) ?? true;
}

/** Whether the user may change files. */
export function mayWrite(): boolean {
  return isAllowed("writeFiles");
}

/** Whether the user may start processes. */
export function mayStart(): boolean {
  return isAllowed("start");
}
