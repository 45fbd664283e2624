import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { ProtocolError, RpcError } from "../../base/errors.ts";
import type { Params } from "../../protocol/index.ts";
import type { SandboxContext } from "../../protocol/sandbox.ts";
import type { Caller } from "../calls/caller.ts";
import { pathOf, pathWithin } from "./file-path.ts";
import { checkedParams } from "../calls/wire-check.ts";

/** Maximum number of changed paths kept for a slow reader; beyond it, the reader gets an overflow. */
const MAX_WAITING_PATHS = 10_000;
const MAX_WAITING_CHARACTERS = 4 * 1024 * 1024;

/** Changes since the last report. */
export interface FileChanges {
  readonly paths: readonly string[];
  /** There were more changes than listed, or there may have been while the connection was lost: check everything. */
  readonly overflow: boolean;
}

/** What to watch, and for how long. */
export interface WatchOptions {
  /** Also watch everything below the directory. */
  readonly recursive?: boolean;
  /** Ends the watch with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The watches of a session. They end with a connection and are set up again on the next one. */
export class FileWatches {
  readonly #caller: Caller;
  readonly #watches = new Map<string, Watch>();
  #lastId = 0;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** Resolves when the server is watching. */
  async open(
    uri: string,
    options: WatchOptions,
    sandbox?: SandboxContext,
  ): Promise<AsyncIterableIterator<FileChanges>> {
    this.#lastId += 1;
    const params = {
      watchId: `watch-${this.#lastId}`,
      path: uri,
      recursive: options.recursive ?? false,
      ...(sandbox === undefined ? {} : { sandbox }),
    };
    const watch = new Watch(params, options.signal, () => this.#close(params.watchId));
    this.#watches.set(params.watchId, watch);
    try {
      await this.#caller.request("fs/watch", params, options.signal === undefined ? {} : options);
    } catch (error) {
      // If the server refused the watch, it has none to remove.
      if (error instanceof RpcError) this.#watches.delete(params.watchId);
      watch.end();
      throw error;
    }
    return watch;
  }

  /**
   * Takes the params of `fs/watch/changed`. Invalid params end their watch; if they belong to none, throws a
   * ProtocolError.
   */
  receive(params: unknown): void {
    try {
      const { watchId, paths, overflow, ended } = checkedParams("fs/watch/changed", params);
      const watch = this.#watches.get(watchId);
      watch?.add(paths, overflow);
      if (ended) watch?.end();
    } catch (error) {
      const watchId = (params as { watchId?: unknown } | null)?.watchId;
      const watch = typeof watchId === "string" ? this.#watches.get(watchId) : undefined;
      if (watch === undefined || !(error instanceof ProtocolError)) throw error;
      watch.end(error);
    }
  }

  /** A new connection knows no watches. */
  renew(): void {
    for (const watch of this.#watches.values()) {
      watch.add([], true);
      this.#caller.request("fs/watch", watch.params).catch((error: unknown) => watch.end(error));
    }
  }

  endAll(error: unknown): void {
    for (const watch of this.#watches.values()) watch.end(error);
  }

  #close(watchId: string): void {
    if (!this.#watches.delete(watchId)) return;
    this.#caller.request("fs/unwatch", { watchId }).catch(() => {
      // The watch ends with the connection anyway.
    });
  }
}

class Watch implements AsyncIterableIterator<FileChanges> {
  readonly params: Params<"fs/watch">;
  readonly #signal: AbortSignal | undefined;
  readonly #left: () => void;
  readonly #directory: string;
  readonly #paths = new Set<string>();
  readonly #abort = (): void => this.end(this.#signal?.reason);
  #characters = 0;
  #overflow = false;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;
  #waiting: Deferred<void> | undefined;

  constructor(params: Params<"fs/watch">, signal: AbortSignal | undefined, left: () => void) {
    this.params = params;
    this.#directory = pathOf(params.path).path;
    this.#signal = signal;
    this.#left = left;
    signal?.addEventListener("abort", this.#abort, { once: true });
  }

  /** Throws a ProtocolError for an invalid path, or one outside the watch. */
  add(uris: readonly string[], overflow: boolean): void {
    if (overflow || this.#paths.size + uris.length > MAX_WAITING_PATHS) this.#overflow = true;
    const paths = this.#overflow ? [] : uris.map((uri) => pathWithin(this.#directory, uri).path);
    for (const path of paths) {
      if (this.#paths.has(path)) continue;
      this.#paths.add(path);
      this.#characters += path.length;
    }
    if (this.#characters > MAX_WAITING_CHARACTERS) this.#overflow = true;
    if (this.#overflow) this.#clear();
    this.#wake();
  }

  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    if (error !== undefined) this.#failure = { error };
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#left();
    this.#wake();
  }

  async next(): Promise<IteratorResult<FileChanges>> {
    for (;;) {
      if (this.#overflow || this.#paths.size > 0) return { done: false, value: this.#take() };
      if (this.#ended) {
        const failure = this.#failure;
        this.#failure = undefined;
        if (failure !== undefined) throw failure.error;
        return { done: true, value: undefined };
      }
      this.#waiting ??= createDeferred();
      await this.#waiting.promise;
    }
  }

  return(): Promise<IteratorResult<FileChanges>> {
    this.#clear();
    this.#overflow = false;
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): FileChanges {
    const changes = { paths: [...this.#paths], overflow: this.#overflow };
    this.#clear();
    this.#overflow = false;
    return changes;
  }

  #clear(): void {
    this.#paths.clear();
    this.#characters = 0;
  }

  #wake(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}
