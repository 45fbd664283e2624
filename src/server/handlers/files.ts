import type { Handlers } from "../../rpc/router.ts";
import type { FileClient } from "../files/file-client.ts";
import type { Places } from "../files/places.ts";
import { directoryHandlers } from "./files/directories.ts";
import { entryHandlers } from "./files/entries.ts";
import { openFileHandlers } from "./files/open-files.ts";
import { placesOfRequests } from "./files/place-of.ts";
import { watchHandlers } from "./files/watches.ts";
import { wholeFileHandlers } from "./files/whole-files.ts";

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
