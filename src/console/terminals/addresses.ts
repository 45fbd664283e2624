import { below, pathTo } from "../frame/addresses.ts";
import { terminalKey, type PaneLayout } from "./layout.ts";

/** Names of kept processes cannot have this character, so that the end of a path can name the mode. */
const FOLLOW = "~follow";

/** The path that starts a terminal. */
export const NEW_TERMINAL = "/t/~new";

/** The path of a terminal: `/t/NAME`, `/t/OWNER/NAME`; `~follow` at its end only shows it. */
export function pathOf(pane: PaneLayout): string {
  return pathTo("/t", terminalKey(pane)) + (pane.mode === "follow" ? FOLLOW : "");
}

/** The terminal of a path. Owners may have slashes, names have none. */
export function paneAt(path: string): PaneLayout | undefined {
  if (path === NEW_TERMINAL) return undefined;
  const rest = below("/t", path) ?? "";
  const follows = rest.endsWith(FOLLOW);
  const key = follows ? rest.slice(0, -FOLLOW.length) : rest;
  const slash = key.lastIndexOf("/");
  const name = key.slice(slash + 1);
  // Browsers resolve dots in paths: the address of such a terminal would name something else.
  if (name === "" || key.split("/").some((part) => part === "." || part === "..")) return undefined;
  return {
    kind: "pane",
    name,
    ...(slash < 0 ? {} : { owner: key.slice(0, slash) }),
    mode: follows ? "follow" : "control",
  };
}
