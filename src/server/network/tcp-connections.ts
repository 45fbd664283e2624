import { CapabilityError } from "../../base/errors.ts";
import { isForeign } from "../../capabilities/host/connection-owner.ts";
import { isLoopbackIp } from "../../capabilities/network-proxy/ip-address.ts";
import type { Admits, Listener } from "../../capabilities/tcp/listener.ts";
import type { TcpConnection } from "../../capabilities/tcp/tcp-connection.ts";
import { limitError, type ServerLimits } from "../settings/limits.ts";
import { invalidParams } from "../wire/refusals.ts";

export type TcpLimits = Pick<
  ServerLimits,
  "maxTcpConnections" | "maxListenersPerConnection" | "maxListeners"
>;

/** Listeners of all clients together. */
export class ListenerSlots {
  readonly #limit: number;
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Throws if there are too many; `release` makes room again. */
  take(): void {
    if (this.#taken >= this.#limit)
      throw limitError("maxListeners", this.#limit, "the clients of this server have too many listeners");
    this.#taken += 1;
  }

  release(): void {
    this.#taken -= 1;
  }
}

/** Connections and listeners of one client, over TCP and Unix sockets. They end with it. */
export class TcpConnections {
  readonly #open = new Map<string, TcpConnection>();
  readonly #connecting = new Map<string, AbortController>();
  readonly #accepting = new Map<string, AbortController>();
  readonly #listeners = new Map<string, { listener?: Listener }>();
  /** Connections with a pending read. */
  readonly #reading = new WeakSet<TcpConnection>();
  readonly #limits: TcpLimits;
  readonly #slots: ListenerSlots;
  readonly #signal: AbortSignal;

  constructor(limits: TcpLimits, { slots, signal }: { slots: ListenerSlots; signal: AbortSignal }) {
    this.#limits = limits;
    this.#slots = slots;
    this.#signal = signal;
  }

  async connect(id: string, open: (signal: AbortSignal) => Promise<TcpConnection>): Promise<TcpConnection> {
    const limit = this.#limits.maxTcpConnections;
    this.#checkUnused(id);
    if (this.#count >= limit) throw limitError("maxTcpConnections", limit, "too many TCP connections");
    return this.#add(id, this.#connecting, open);
  }

  /** The next connection that arrives at a listener. */
  async accept(listenId: string, id: string): Promise<TcpConnection> {
    this.#checkUnused(id);
    const listener = this.#listeners.get(listenId)?.listener;
    if (listener === undefined) throw new CapabilityError("NOT_FOUND", `no listener \`${listenId}\``);
    if (listener.isAwaited) throw invalidParams(`an accept of listener \`${listenId}\` is waiting`);
    return this.#add(id, this.#accepting, (signal) => listener.accept(signal));
  }

  #checkUnused(id: string): void {
    if (this.#open.has(id) || this.#connecting.has(id) || this.#accepting.has(id))
      throw invalidParams(`TCP connection \`${id}\` already exists`);
  }

  /** Everything that takes a descriptor. */
  get #count(): number {
    let count = this.#open.size + this.#connecting.size;
    for (const { listener } of this.#listeners.values()) count += listener?.waiting ?? 0;
    return count;
  }

  async #add(
    id: string,
    pending: Map<string, AbortController>,
    open: (signal: AbortSignal) => Promise<TcpConnection>,
  ): Promise<TcpConnection> {
    const attempt = new AbortController();
    pending.set(id, attempt);
    try {
      const connection = await open(attempt.signal);
      if (this.#signal.aborted || attempt.signal.aborted) connection.destroy();
      else this.#open.set(id, connection);
      return connection;
    } finally {
      pending.delete(id);
    }
  }

  async listen(id: string, open: () => Promise<Listener>): Promise<Listener> {
    const limit = this.#limits.maxListenersPerConnection;
    if (this.#listeners.has(id)) throw invalidParams(`listener \`${id}\` already exists`);
    if (this.#listeners.size >= limit)
      throw limitError("maxListenersPerConnection", limit, "too many listeners");
    this.#slots.take();
    const entry: { listener?: Listener } = {};
    this.#listeners.set(id, entry);
    const isCurrent = (): boolean => this.#listeners.get(id) === entry;
    try {
      const listener = await open();
      entry.listener = listener;
      if (isCurrent() && !this.#signal.aborted) return listener;
      if (!isCurrent()) listener.close();
      throw new CapabilityError("NOT_FOUND", `listener \`${id}\` was closed`);
    } catch (error) {
      if (isCurrent()) this.unlisten(id);
      throw error;
    }
  }

  unlisten(id: string): void {
    this.#listeners.get(id)?.listener?.close();
    if (this.#listeners.delete(id)) this.#slots.release();
  }

  /**
   * Whether a connection that arrives may wait to be accepted. On a loopback address, other users are refused: they have
   * no right to what the client reaches.
   */
  readonly admits: Admits = (socket, { local }) => {
    const isOpen = this.#count < this.#limits.maxTcpConnections;
    return isOpen && !(local !== undefined && isLoopbackIp(local.address) && isForeign(socket));
  };

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
    this.#accepting.get(id)?.abort();
    this.#open.get(id)?.destroy();
    this.#open.delete(id);
  }

  closeAll(): void {
    for (const attempt of this.#connecting.values()) attempt.abort();
    for (const id of this.#listeners.keys()) this.unlisten(id);
    for (const connection of this.#open.values()) connection.destroy();
    this.#open.clear();
  }
}
