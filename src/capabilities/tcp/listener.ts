import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { CapabilityError } from "../../base/errors.ts";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import type { Location } from "../files/location.ts";
import { cutOff, READ_BUFFER_BYTES, socketFailure, TcpConnection } from "./tcp-connection.ts";
import { bindUnixSocket } from "./unix-socket.ts";

/** Connections that wait to be accepted; a further one is cut off. */
const MAX_WAITING = 64;

/** Judges a connection that arrives. */
export type Admits = (socket: Socket, listener: Listener) => boolean;

/** Accepts connections on demand, over TCP or a Unix socket. Until then, nothing is read from them. */
export class Listener {
  readonly #server: Server;
  readonly #waiting: Socket[] = [];
  #awaited: Deferred<TcpConnection> | undefined;
  #remove: (() => void) | undefined;

  private constructor(admits: Admits) {
    // `highWaterMark` is missing in the types.
    const options = { highWaterMark: READ_BUFFER_BYTES, allowHalfOpen: true, pauseOnConnect: true };
    this.#server = createServer({ ...options, noDelay: true, keepAlive: true }, (socket) => {
      socket.on("error", () => {}); // Whoever reads or writes learns of it.
      if (admits(socket, this)) this.#arrived(socket);
      else cutOff(socket);
    });
  }

  /** Listens on a TCP port; 0 picks one. Rejects with a CapabilityError. */
  static async onPort(address: { host: string; port: number }, admits: Admits): Promise<Listener> {
    const listener = new Listener(admits);
    try {
      listener.#server.listen(address);
      await once(listener.#server, "listening");
    } catch (error) {
      throw socketFailure(error as Error, `cannot listen on ${address.host}:${address.port}`);
    }
    return listener.#listening();
  }

  /** Listens on a new Unix socket; see `bindUnixSocket`. Rejects with a CapabilityError. */
  static async onPath(
    location: Location,
    { admits, check }: { admits: Admits; check: (path: string) => void },
  ): Promise<Listener> {
    const listener = new Listener(admits);
    listener.#remove = await bindUnixSocket(listener.#server, location, check);
    return listener.#listening();
  }

  #listening(): this {
    // Accepting failed, for lack of descriptors; the next connection may be luckier.
    this.#server.on("error", () => {});
    return this;
  }

  /** Undefined for a Unix socket. */
  get local(): { readonly address: string; readonly port: number } | undefined {
    const address = this.#server.address();
    return typeof address === "string" || address === null ? undefined : address;
  }

  /** How many connections wait to be accepted. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whether an `accept` waits. There can be only one. */
  get isAwaited(): boolean {
    return this.#awaited !== undefined;
  }

  /** The next connection. Rejects with a CapabilityError if it is aborted, or the listener is closed. */
  async accept(signal: AbortSignal): Promise<TcpConnection> {
    const socket = this.#waiting.shift();
    if (socket !== undefined) return accepted(socket);
    const awaited = createDeferred<TcpConnection>();
    this.#awaited = awaited;
    const abort = (): void => this.#refuse("it was cancelled");
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await awaited.promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #arrived(socket: Socket): void {
    const awaited = this.#awaited;
    if (awaited !== undefined) {
      this.#awaited = undefined;
      awaited.resolve(accepted(socket));
    } else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(socket);
    else cutOff(socket);
  }

  #refuse(why: string): void {
    this.#awaited?.reject(new CapabilityError("NOT_FOUND", `no connection was accepted: ${why}`));
    this.#awaited = undefined;
  }

  /** Stops listening, and cuts off what waits. */
  close(): void {
    this.#remove?.();
    this.#server.close();
    this.#refuse("the listener was closed");
    for (const socket of this.#waiting.splice(0)) cutOff(socket);
  }
}

function accepted(socket: Socket): TcpConnection {
  const { remoteAddress, remotePort } = socket;
  return new TcpConnection(
    socket,
    remoteAddress === undefined ? "a client" : `${remoteAddress}:${remotePort}`,
  );
}
