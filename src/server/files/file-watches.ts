import { RpcError } from "../../base/errors.ts";
import type { Place } from "../../capabilities/files/place.ts";
import { type TreeChange, watchTree } from "../../capabilities/files/watch-tree.ts";
import { RpcCode } from "../../protocol/errors.ts";
import type { ClientConnection } from "../connection/client-connection.ts";

/** Maximum number of watches per connection. */
const MAX_WATCHES = 128;

/** Watches of one connection, by the ids it chose. */
export class FileWatches {
  readonly #client: ClientConnection;
  readonly #stops = new Map<string, () => void>();

  constructor(client: ClientConnection) {
    this.#client = client;
    client.signal.addEventListener("abort", () => this.#closeAll(), { once: true });
  }

  async add(watchId: string, place: Place, options: { recursive: boolean }): Promise<void> {
    if (this.#stops.has(watchId))
      throw new RpcError(RpcCode.invalidRequest, `fs/watch: the watch id ${watchId} is in use`);
    if (this.#stops.size >= MAX_WATCHES)
      throw new RpcError(RpcCode.invalidRequest, `fs/watch: the connection has ${MAX_WATCHES} watches`);
    const opening = (): void => {};
    this.#stops.set(watchId, opening);
    try {
      const stop = await watchTree(place, { ...options, onChange: (change) => this.#tell(watchId, change) });
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

  async #tell(watchId: string, { places, overflow, ended }: TreeChange): Promise<void> {
    if (ended) this.#stops.delete(watchId);
    const paths = places.map(({ uri }) => uri);
    this.#client.notify("fs/watch/changed", { watchId, paths, overflow, ended });
    await this.#client.drained();
  }

  #closeAll(): void {
    for (const stop of this.#stops.values()) stop();
    this.#stops.clear();
  }
}
