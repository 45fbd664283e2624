import { chmodSync } from "node:fs";
import type { Location } from "./location.ts";
import { refuseSetId, refuseToChange } from "./writing.ts";

/**
 * Sets the permissions of a location's target. A root's permissions cannot be changed: they are the operator's choice.
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
