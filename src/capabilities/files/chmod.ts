import { chmodSync } from "node:fs";
import type { Place } from "./place.ts";
import { refuseSetId, refuseToChange } from "./writing.ts";

/**
 * Sets the permissions of what a place leads to. A root's permissions cannot be changed: they are up to whoever set it
 * up.
 */
export function chmod(place: Place, mode: number): void {
  refuseSetId(mode, place);
  const target = place.resolved();
  target.checkChange();
  target.onTarget({ followSymlinks: true }, (path) => {
    refuseToChange(place, path);
    chmodSync(path, mode);
  });
}
