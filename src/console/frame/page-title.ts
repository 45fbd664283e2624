import { visibleText } from "../../base/visible-text.ts";
import { below } from "./addresses.ts";
import type { View } from "./view.ts";

const LONGEST_NAME = 80;

/**
 * Title of an address in tabs, bookmarks and the history, with the most specific part first, because tabs are narrow.
 */
export function titleOf(path: string, view: Pick<View, "title" | "path"> | undefined): string {
  if (view === undefined) return "Not found · exec-server";
  const whole = below(view.path, path) ?? "";
  const name = view.path === "/f" ? (whole.split("/").findLast((part) => part !== "") ?? "") : whole;
  const shown = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
  return [...(shown === "" ? [] : [visibleText(shown)]), view.title, "exec-server"].join(" · ");
}
