import { CapabilityError } from "../../base/errors.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import type { Place } from "../../capabilities/files/place.ts";
import { watchTree } from "../../capabilities/files/watch-tree.ts";
import { MAX_WATCHED_PATHS } from "../../capabilities/files/watch-missing.ts";
import { Turns } from "../../capabilities/turns.ts";
import type { Handlers } from "../../rpc/router.ts";
import type { FileClient } from "./file-client.ts";
import { watchesOf } from "./file-watches.ts";
import type { Places } from "./places.ts";
import { MissingWatches } from "./missing-watches.ts";
import type { PlaceOf } from "./place-of.ts";

/** Methods that report changes. */
export function watchHandlers(places: Places, placeOf: PlaceOf) {
  return {
    "fs/watchMissing": async (client, { watchId, missing, present }) => {
      const watch = missingWatchesOf(client);
      // Too many to watch, so they are not checked either.
      if (missing.length > MAX_WATCHED_PATHS)
        return { watching: await watch.replace(watchId, [], undefined) };
      const texts = typeof present === "string" ? [...missing, present] : missing;
      const found = await placesToWatch(texts, (text) => places.at(text, client));
      // A path of another system never exists.
      if (found === undefined) return { watching: await watch.replace(watchId, [], undefined) };
      const presentPlace = typeof present === "string" ? found.pop() : undefined;
      return { watching: await watch.replace(watchId, found, presentPlace) };
    },

    "fs/watch": (client, params) => {
      const place = placeOf(client, params);
      return inFiles(async () => {
        const recursive = params.recursive ?? false;
        await watchesOf(client).add(params.watchId, (tell) =>
          watchTree(place, {
            recursive,
            onChange: ({ places: changed, ...rest }) =>
              tell({ ...rest, paths: changed.map(({ uri }) => uri) }),
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
async function placesToWatch(
  texts: readonly string[],
  placeAt: (text: string) => Place,
): Promise<Place[] | undefined> {
  const turns = new Turns();
  const found: Place[] = [];
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
  for (const place of found) {
    if (turns.over) await turns.next();
    refuseOutside(place);
  }
  return isComplete ? found : undefined;
}

/** Any other fault of a path only means that it cannot be watched. */
function refuseOutside(place: Place): void {
  try {
    place.check({ followSymlinks: true });
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
