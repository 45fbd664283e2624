import type { Handlers } from "../../rpc/router.ts";
import type { FileClient } from "./file-client.ts";
import type { Locations } from "./locations.ts";
import { directoryHandlers } from "./directories.ts";
import { entryHandlers } from "./entries.ts";
import { openFileHandlers } from "./open-files.ts";
import { requestLocator } from "./locate.ts";
import { watchHandlers } from "./watches.ts";
import { wholeFileHandlers } from "./whole-files.ts";

/** The methods `fs/…`, in groups of what they work on. */
export function fileHandlers(locations: Locations) {
  const locate = requestLocator(locations);
  return {
    ...wholeFileHandlers(locate),
    ...openFileHandlers(locate),
    ...entryHandlers(locate),
    ...directoryHandlers(locate),
    ...watchHandlers(locations, locate),
  } satisfies Handlers<FileClient>;
}
