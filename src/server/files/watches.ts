import { CapabilityError } from "../../base/errors.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import type { Location } from "../../capabilities/files/location.ts";
import { watchTree } from "../../capabilities/files/watch-tree.ts";
import { MAX_WATCHED_PATHS } from "../../capabilities/files/watch-missing.ts";
import { Turns } from "../../capabilities/turns.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { FileClient } from "./file-client.ts";
import { watchesOf } from "./file-watches.ts";
import type { Locations } from "./locations.ts";
import { MissingWatches } from "./missing-watches.ts";
import type { Locate } from "./locate.ts";

/** Methods that report changes. */
export function watchHandlers(locations: Locations, locate: Locate) {
  return {
    "fs/watchMissing": async (client, { watchId, missing, present }) => {
      const watch = missingWatchesOf(client);
      // Too many to watch, so they are not checked either.
      if (missing.length > MAX_WATCHED_PATHS)
        return { watching: await watch.replace(watchId, [], undefined) };
      const texts = typeof present === "string" ? [...missing, present] : missing;
      const found = await locationsToWatch(texts, (text) => locations.at(text, client));
      // A path of another system never exists.
      if (found === undefined) return { watching: await watch.replace(watchId, [], undefined) };
      const presentLocation = typeof present === "string" ? found.pop() : undefined;
      return { watching: await watch.replace(watchId, found, presentLocation) };
    },

    "fs/watch": (client, params) => {
      const location = locate(client, params);
      return inFiles(async () => {
        const recursive = params.recursive ?? false;
        await watchesOf(client).add(params.watchId, (notify) =>
          watchTree(location, {
            recursive,
            onChange: ({ locations: changed, ...rest }) =>
              notify({ ...rest, paths: changed.map(({ uri }) => uri) }),
          }),
        );
        return {};
      });
    },

    "fs/unwatch": (client, { watchId }) => {
      watchesOf(client).remove(watchId);
      return {};
    },
  } satisfies Handlers<FileClient>;
}

/** Undefined if one of them cannot exist on this host. Throws for a path outside the roots. */
async function locationsToWatch(
  texts: readonly string[],
  placeAt: (text: string) => Location,
): Promise<Location[] | undefined> {
  const turns = new Turns();
  const found: Location[] = [];
  let isComplete = true;
  for (const text of texts) {
    if (turns.over) await turns.next();
    try {
      found.push(placeAt(text));
    } catch (error) {
      if (!(error instanceof CapabilityError)) throw error;
      isComplete = false;
    }
  }
  for (const location of found) {
    if (turns.over) await turns.next();
    refuseOutside(location);
  }
  return isComplete ? found : undefined;
}

/** Any other fault of a path only means that it cannot be watched. */
function refuseOutside(location: Location): void {
  try {
    location.check({ followSymlinks: true });
  } catch (error) {
    if (error instanceof CapabilityError && error.code === "PERMISSION_DENIED") throw error;
  }
}

const missingWatches = new WeakMap<FileClient, MissingWatches>();

function missingWatchesOf(client: FileClient): MissingWatches {
  let found = missingWatches.get(client);
  if (found === undefined) {
    const created = new MissingWatches((watchId) => client.notify("fs/missingChanged", { watchId }));
    client.signal.addEventListener("abort", () => created.close(), { once: true });
    missingWatches.set(client, created);
    found = created;
  }
  return found;
}
