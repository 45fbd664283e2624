import { CapabilityError, RpcError } from "../../base/errors.ts";
import { inFiles } from "../../capabilities/files/file-error.ts";
import type { Location } from "../../capabilities/files/location.ts";
import { MAX_WATCHED_PATHS, watchMissing } from "../../capabilities/files/watch-missing.ts";
import { watchTree } from "../../capabilities/files/watch-tree.ts";
import { Turns } from "../../capabilities/turns.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { NotificationParams } from "../../protocol/index.ts";
import type { Handlers } from "../../rpc/router.ts";
import { perClient } from "../wire/per-client.ts";
import type { FileClient } from "./file-client.ts";
import type { Locations } from "./locations.ts";

/** Maximum number of watches per connection. */
const MAX_WATCHES = 128;

type WatchChange = Omit<NotificationParams<"fs/watch/changed">, "watchId">;

/** Resolves when there is room for the next change. */
export type NotifyChange = (change: WatchChange) => Promise<void>;

export const watchesOf = perClient<FileClient, FileWatches>(
  (client) => new FileWatches(client),
  (watches) => watches.closeAll(),
);

const missingWatchesOf = perClient<FileClient, MissingWatches>(
  (client) => new MissingWatches((watchId) => client.notify("fs/missingChanged", { watchId })),
  (watches) => watches.close(),
);

/** Methods that report changes. */
export function watchHandlers(locations: Locations) {
  return {
    "fs/watchMissing": async (client, { watchId, missing, present }) => {
      const watch = missingWatchesOf(client);
      const texts = typeof present === "string" ? [...missing, present] : missing;
      // Too many to watch are not checked either, and a path of another system never exists.
      const watched =
        missing.length > MAX_WATCHED_PATHS
          ? undefined
          : await locationsToWatch(texts, (text) => locations.at(text, client));
      if (watched === undefined) return { watching: await watch.replace(watchId, [], undefined) };
      const presentLocation = typeof present === "string" ? watched.pop() : undefined;
      return { watching: await watch.replace(watchId, watched, presentLocation) };
    },

    "fs/watch": (client, params) => {
      const location = locations.locate(client, params);
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
  locationAt: (text: string) => Location,
): Promise<Location[] | undefined> {
  const turns = new Turns();
  const located: Location[] = [];
  let isComplete = true;
  for (const text of texts) {
    if (turns.over) await turns.next();
    try {
      located.push(locationAt(text));
    } catch (error) {
      if (!(error instanceof CapabilityError)) throw error;
      isComplete = false;
    }
  }
  for (const location of located) {
    if (turns.over) await turns.next();
    refuseOutside(location);
  }
  return isComplete ? located : undefined;
}

/** Any other fault of a path only means that it cannot be watched. */
function refuseOutside(location: Location): void {
  try {
    location.check({ followSymlinks: true });
  } catch (error) {
    if (error instanceof CapabilityError && error.code === "PERMISSION_DENIED") throw error;
  }
}

/** Watches of one connection, by the ids it chose. */
class FileWatches {
  readonly #client: FileClient;
  readonly #stops = new Map<string, () => void>();

  constructor(client: FileClient) {
    this.#client = client;
  }

  async add(watchId: string, start: (notify: NotifyChange) => Promise<() => void>): Promise<void> {
    if (this.#stops.has(watchId))
      throw new RpcError(RpcCode.invalidRequest, `fs/watch: the watch id ${watchId} is in use`);
    if (this.#stops.size >= MAX_WATCHES)
      throw new RpcError(RpcCode.invalidRequest, `fs/watch: the connection has ${MAX_WATCHES} watches`);
    const opening = (): void => {};
    this.#stops.set(watchId, opening);
    try {
      const stop = await start((change) => this.#notify(watchId, change));
      // It may have been closed in the meantime.
      if (this.#stops.get(watchId) === opening) this.#stops.set(watchId, stop);
      else stop();
    } catch (error) {
      this.#stops.delete(watchId);
      throw error;
    }
  }

  /** An unknown id is not an error. */
  remove(watchId: string): void {
    this.#stops.get(watchId)?.();
    this.#stops.delete(watchId);
  }

  async #notify(watchId: string, { paths, overflow, ended }: WatchChange): Promise<void> {
    if (ended) this.#stops.delete(watchId);
    this.#client.notify("fs/watch/changed", { watchId, paths, overflow, ended });
    await this.#client.drained();
  }

  closeAll(): void {
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
  }
}

/**
 * One watch at a time: a new one replaces the old. Ids must increase, so that a late notification cannot be mistaken.
 */
class MissingWatches {
  readonly #notify: (watchId: number) => void;
  #newestId = 0;
  #stop: (() => void) | undefined;

  constructor(notify: (watchId: number) => void) {
    this.#notify = notify;
  }

  async replace(
    watchId: number,
    missing: readonly Location[],
    present: Location | undefined,
  ): Promise<boolean> {
    if (watchId <= this.#newestId) return false;
    this.#newestId = watchId;
    this.#end();
    const stop = await watchMissing(missing, present, () => this.#notify(watchId));
    // Meanwhile a newer one may have arrived, or the connection may be gone.
    if (this.#newestId !== watchId) stop?.();
    else this.#stop = stop;
    return this.#stop !== undefined && this.#stop === stop;
  }

  close(): void {
    this.#newestId = Number.POSITIVE_INFINITY;
    this.#end();
  }

  #end(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}
