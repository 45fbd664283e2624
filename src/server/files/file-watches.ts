import { RpcError } from "../../base/errors.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { NotificationParams } from "../../protocol/index.ts";
import type { FileClient } from "./file-client.ts";

/** Maximum number of watches per connection. */
const MAX_WATCHES = 128;

type WatchChange = Omit<NotificationParams<"fs/watch/changed">, "watchId">;

/** Resolves when there is room for the next change. */
export type NotifyChange = (change: WatchChange) => Promise<void>;

const watches = new WeakMap<FileClient, FileWatches>();

export function watchesOf(client: FileClient): FileWatches {
  const found = watches.get(client) ?? new FileWatches(client);
  watches.set(client, found);
  return found;
}

/** Watches of one connection, by the ids it chose. */
class FileWatches {
  readonly #client: FileClient;
  readonly #stops = new Map<string, () => void>();

  constructor(client: FileClient) {
    this.#client = client;
    client.signal.addEventListener("abort", () => this.#closeAll(), { once: true });
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
      // It may have been closed meanwhile.
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

  #closeAll(): void {
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
  }
}
