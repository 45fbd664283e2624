import type { UpstreamConnection } from "./upstream-connection.ts";

const MAX_IDLE_CONNECTIONS = 256;

interface Idle {
  readonly key: string;
  readonly connection: UpstreamConnection;
}

/** Connections that wait for another request, by where they lead. How long they wait is their own affair. */
export class ConnectionPool {
  /** The one that has waited longest first. */
  readonly #idle: Idle[] = [];

  /** The connection to that place that was used last. */
  take(key: string): UpstreamConnection | undefined {
    const index = this.#idle.findLastIndex((idle) => idle.key === key);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0]!.connection;
  }

  /** Beyond the limit the one that has waited longest is closed. */
  give(key: string, connection: UpstreamConnection): void {
    this.#idle.push({ key, connection });
    if (this.#idle.length > MAX_IDLE_CONNECTIONS) this.#idle[0]!.connection.destroy();
  }

  /** Forgets a connection that has ended. */
  drop(connection: UpstreamConnection): void {
    const index = this.#idle.findIndex((idle) => idle.connection === connection);
    if (index >= 0) this.#idle.splice(index, 1);
  }
}
