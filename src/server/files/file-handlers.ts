import type { Handlers } from "../../rpc/router.ts";
import { contentHandlers } from "./contents.ts";
import { entryHandlers } from "./entries.ts";
import type { FileClient } from "./file-client.ts";
import type { Locations } from "./locations.ts";
import { watchHandlers } from "./watches.ts";

/** The methods `fs/…`, grouped by what they work on. */
export function fileHandlers(locations: Locations) {
  return {
    ...contentHandlers(locations),
    ...entryHandlers(locations),
    ...watchHandlers(locations),
  } satisfies Handlers<FileClient>;
}
