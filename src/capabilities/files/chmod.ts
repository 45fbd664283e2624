import { chmodSync } from "node:fs";
import type { Place } from "./place.ts";

/** Sets the permissions of what a place leads to, but not those of a root: whom it lets in is up to whoever set it up. */
export function chmod(place: Place, mode: number): void {
  const target = place.resolved();
  target.checkChange();
  target.onTarget({ followSymlinks: true }, (path) => chmodSync(path, mode));
}
