import { rename as renameEntry } from "node:fs/promises";
import type { Location } from "./location.ts";
import { refuseEntry } from "./writing.ts";

/** Renames an entry, replacing an existing one. A link is renamed, not followed. */
export async function rename(from: Location, to: Location): Promise<void> {
  from.checkChange();
  to.checkChange();
  await from.onEntry((oldEntry) =>
    to.onEntry((newEntry) => {
      refuseEntry(from, oldEntry);
      refuseEntry(to, newEntry);
      return renameEntry(oldEntry, newEntry);
    }),
  );
}
