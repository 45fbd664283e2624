import { invalidParams } from "../wire/refusals.ts";
import { CapabilityError } from "../../base/errors.ts";
import { TcpConnection, type TcpTarget } from "../../capabilities/tcp/tcp-connection.ts";
import { limitError } from "../settings/limit-error.ts";

/** The TCP connections of one client, which end with it. */
export class TcpConnections {
  readonly #open = new Map<string, TcpConnection>();
  readonly #connecting = new Map<string, AbortController>();
  /** Those with a read that waits. */
  readonly #reading = new WeakSet<TcpConnection>();
  readonly #limit: number;
  readonly #signal: AbortSignal;

  constructor(limit: number, signal: AbortSignal) {
    this.#limit = limit;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#closeAll(), { once: true });
  }

  async connect(id: string, target: TcpTarget, timeoutMs: number): Promise<TcpConnection> {
    if (this.#open.has(id) || this.#connecting.has(id))
      throw invalidParams(`TCP connection \`${id}\` already exists`);
    if (this.#open.size + this.#connecting.size >= this.#limit)
      throw limitError("maxTcpConnections", this.#limit, "too many TCP connections");
    const attempt = new AbortController();
    this.#connecting.set(id, attempt);
    try {
      const connection = await TcpConnection.open(target, { timeoutMs, signal: attempt.signal });
      if (this.#signal.aborted) connection.destroy();
      else this.#open.set(id, connection);
      return connection;
    } finally {
      this.#connecting.delete(id);
    }
  }

  get(id: string): TcpConnection {
    const connection = this.#open.get(id);
    if (connection === undefined) throw new CapabilityError("NOT_FOUND", `no TCP connection \`${id}\``);
    return connection;
  }

  /** Resolves when there is something to take, with a function that takes it. */
  async read(id: string): Promise<TcpConnection["take"]> {
    const connection = this.get(id);
    if (this.#reading.has(connection)) throw invalidParams(`a read of TCP connection \`${id}\` is waiting`);
    this.#reading.add(connection);
    try {
      await connection.whenReadable();
    } catch (error) {
      this.#reading.delete(connection);
      throw error;
    }
    return (maxBytes) => {
      this.#reading.delete(connection);
      return connection.take(maxBytes);
    };
  }

  close(id: string): void {
    this.#connecting.get(id)?.abort();
    this.#open.get(id)?.destroy();
    this.#open.delete(id);
  }

  #closeAll(): void {
    for (const attempt of this.#connecting.values()) attempt.abort();
    for (const connection of this.#open.values()) connection.destroy();
    this.#open.clear();
  }
}
