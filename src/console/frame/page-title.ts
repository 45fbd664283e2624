import { visibleText } from "../../base/visible-text.ts";
import { below } from "./addresses.ts";
import type { View } from "./view.ts";

const LONGEST_NAME = 80;

/** What tabs, bookmarks and the history call an address: what it names first, because tabs are narrow. */
export function titleOf(path: string, view: Pick<View, "id" | "title" | "path"> | undefined): string {
  if (view === undefined) return "Not found · exec-server";
  const whole = below(view.path, path) ?? "";
  const name = view.id === "files" ? (whole.split("/").findLast((part) => part !== "") ?? "") : whole;
  const shown = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name;
  return [...(shown === "" ? [] : [visibleText(shown)]), view.title, "exec-server"].join(" · ");
}
