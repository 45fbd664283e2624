import { shownUrl } from "../../../base/shown-url.ts";
import type { Target } from "./target.ts";

/** What results call a server. */
export function targetName(target: Target): string {
  if (target.kind === "own") return "local";
  return target.kind === "url" ? (target.name ?? shownUrl(target.url)) : target.name;
}
