import type { UpstreamConnection } from "./upstream-connection.ts";

const MAX_IDLE_CONNECTIONS = 256;
/** Servers mostly give up an idle connection after a minute or more. */
const MAX_IDLE_MS = 90_000;

interface Idle {
  readonly key: string;
  readonly connection: UpstreamConnection;
  readonly since: number;
}

/** Connections that wait for another request, by where they lead. */
export class ConnectionPool {
  /** The one that has waited longest first. */
  #idle: Idle[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** The connection to that place that was used last. */
  take(key: string): UpstreamConnection | undefined {
    const index = this.#idle.findLastIndex((idle) => idle.key === key);
    return index < 0 ? undefined : this.#idle.splice(index, 1)[0]?.connection;
  }

  give(key: string, connection: UpstreamConnection): void {
    this.#idle.push({ key, connection, since: performance.now() });
    if (this.#idle.length > MAX_IDLE_CONNECTIONS) this.#idle.shift()?.connection.destroy();
    this.#timer ??= setTimeout(() => this.#expire(), MAX_IDLE_MS).unref();
  }

  /** Forgets a connection that has ended. */
  drop(connection: UpstreamConnection): void {
    const index = this.#idle.findIndex((idle) => idle.connection === connection);
    if (index >= 0) this.#idle.splice(index, 1);
  }

  #expire(): void {
    this.#timer = undefined;
    const now = performance.now();
    const expired = this.#idle.filter(({ since }) => now - since >= MAX_IDLE_MS);
    for (const { connection } of expired) connection.destroy();
    const oldest = this.#idle[0];
    if (oldest !== undefined)
      this.#timer = setTimeout(() => this.#expire(), MAX_IDLE_MS - (now - oldest.since)).unref();
  }
}
