import type { Handlers } from "../../rpc/router.ts";
import type { FileClient } from "./file-client.ts";
import type { Places } from "./places.ts";
import { directoryHandlers } from "./directories.ts";
import { entryHandlers } from "./entries.ts";
import { openFileHandlers } from "./open-files.ts";
import { placesOfRequests } from "./place-of.ts";
import { watchHandlers } from "./watches.ts";
import { wholeFileHandlers } from "./whole-files.ts";

/** The methods `fs/…`, in groups of what they work on. */
export function fileHandlers(places: Places) {
  const placeOf = placesOfRequests(places);
  return {
    ...wholeFileHandlers(placeOf),
    ...openFileHandlers(placeOf),
    ...entryHandlers(placeOf),
    ...directoryHandlers(placeOf),
    ...watchHandlers(places, placeOf),
  } satisfies Handlers<FileClient>;
}
