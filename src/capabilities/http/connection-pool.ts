import type { UpstreamConnection } from "./upstream-connection.ts";

const MAX_IDLE_CONNECTIONS = 256;

interface Idle {
  readonly key: string;
  readonly connection: UpstreamConnection;
}

/** Idle connections, by route. Each connection limits its own idle time. */
export class ConnectionPool {
  /** Longest idle first. */
  readonly #idle: Idle[] = [];

  /** The most recently used connection for that route. */
  take(key: string): UpstreamConnection | undefined {
    const index = this.#idle.findLastIndex((idle) => idle.key === key);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0]!.connection;
  }

  /** Beyond the limit, closes the connection that has been idle longest. */
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
