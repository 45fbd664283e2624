import type { UpstreamConnection } from "./upstream-connection.ts";

const MAX_IDLE_CONNECTIONS = 256;
/** Servers mostly give up an idle connection after a minute or more. */
const MAX_IDLE_MS = 90_000;
/** A connection is not used any more when its server is about to close it. */
const MARGIN_MS = 1_000;

interface Idle {
  readonly key: string;
  readonly connection: UpstreamConnection;
  readonly until: number;
}

/** Connections that wait for another request, by where they lead. */
export class ConnectionPool {
  /** The one that has waited longest first. */
  readonly #idle: Idle[] = [];
  #watching = false;

  /** The connection to that place that was used last. */
  take(key: string): UpstreamConnection | undefined {
    for (let index = this.#idle.length - 1; index >= 0; index -= 1) {
      const { key: found, connection, until } = this.#idle[index]!;
      if (found !== key) continue;
      this.#idle.splice(index, 1);
      if (until > performance.now()) return connection;
      connection.destroy();
    }
    return undefined;
  }

  /** `promisedMs` is how long the server has said it will wait, if it has. */
  give(key: string, connection: UpstreamConnection, promisedMs: number = Infinity): void {
    const until = performance.now() + Math.min(MAX_IDLE_MS, promisedMs - MARGIN_MS);
    this.#idle.push({ key, connection, until });
    if (this.#idle.length > MAX_IDLE_CONNECTIONS) this.#idle[0]!.connection.destroy();
    this.#watch();
  }

  /** Forgets a connection that has ended. */
  drop(connection: UpstreamConnection): void {
    const index = this.#idle.findIndex((idle) => idle.connection === connection);
    if (index >= 0) this.#idle.splice(index, 1);
  }

  #watch(): void {
    if (this.#watching) return;
    this.#watching = true;
    setTimeout(() => {
      this.#watching = false;
      const now = performance.now();
      for (const { connection } of this.#idle.filter(({ until }) => until <= now)) connection.destroy();
      if (this.#idle.length > 0) this.#watch();
    }, MAX_IDLE_MS).unref();
  }
}
