import { chmodSync } from "node:fs";
import type { Location } from "./location.ts";
import { refuseSetId, refuseToChange } from "./writing.ts";

/**
 * Sets the permissions of what a location leads to. A root's permissions cannot be changed: they are up to whoever set it
 * up.
 */
export function chmod(location: Location, mode: number): void {
  refuseSetId(mode, location);
  const target = location.resolved();
  target.checkChange();
  target.onTarget({ followSymlinks: true }, (path) => {
    refuseToChange(location, path);
    chmodSync(path, mode);
  });
}
