import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Dispatcher } from "undici";
import { type Carrier, type Exchange, MAX_HEAD_BYTES } from "./exchange.ts";
import type { Route } from "./route.ts";
import { type Opened, openSocket } from "./socket.ts";
import { openTunnel } from "./tunnel.ts";
import type { UndiciClient, UndiciClientConstructor } from "./undici.ts";

/** Most servers close an idle connection after a minute or more. */
const MAX_IDLE_MS = 90_000;
/** A connection is no longer used this long before its server closes it. */
const MARGIN_MS = 1_000;

/** A connection to an upstream server. It carries one exchange at a time. */
export class UpstreamConnection implements Carrier {
  readonly #client: UndiciClient;
  readonly #ended: (connection: UpstreamConnection) => void;
  /** The connected socket, or the pending connection attempt. */
  #socket: { destroy(): void } | undefined;
  #exchange: Exchange | undefined;
  #paused = false;
  #destroyed = false;

  /** `ended` is called once, when the connection is no longer usable. */
  constructor(
    Client: UndiciClientConstructor,
    route: Route,
    ended: (connection: UpstreamConnection) => void,
  ) {
    this.#ended = ended;
    // `connect` alone decides how to reach the server, and each request names its host.
    this.#client = new Client("http://upstream", {
      connect: (_, callback) => this.#connect(Client, route, callback as Opened),
      pipelining: 1,
      maxHeaderSize: MAX_HEAD_BYTES,
      keepAliveTimeout: MAX_IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      keepAliveTimeoutThreshold: MARGIN_MS,
      // The caller sets the timeout.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    // If the connection ends before a request was sent, undici itself sends the request on a new one.
    this.#client.on("disconnect", () => {
      if (this.#exchange === undefined) this.destroy();
    });
    // Undici emits this for exceptions in its handlers, though its types do not declare it.
    (this.#client as EventEmitter).on("error", () => this.destroy());
  }

  /** Runs an exchange; `release` or `destroy` must follow. */
  carry(exchange: Exchange, request: Dispatcher.DispatchOptions): void {
    this.#exchange = exchange;
    this.#paused = false;
    exchange.carriedBy(this);
    this.#client.dispatch(request, exchange);
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    (this.#socket as Socket | undefined)?.emit("readable");
  }

  /** The exchange is over. False if the connection cannot carry another. */
  release(): boolean {
    this.#exchange = undefined;
    this.#paused = false;
    // If the response arrived before the request was fully sent, part of the request is still queued.
    const isClean = (this.#socket as Socket | undefined)?.writableLength === 0;
    if (!isClean) this.destroy();
    return !this.#destroyed;
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    // Destroy the client too: it would wait for a pending connection.
    if (!this.#client.destroyed) void this.#client.destroy();
    this.#socket?.destroy();
    this.#ended(this);
  }

  #connect(Client: UndiciClientConstructor, { end, tunnel }: Route, opened: Opened): void {
    const connected: Opened = (error, socket) => {
      if (socket !== null) this.#adopt(socket);
      if (this.#destroyed) socket?.destroy();
      // Undici retries forever after errors with their own code, such as those of a tunnel.
      if (error !== null) opened(new Error(error.message, { cause: error }), null);
      else opened(null, socket);
    };
    this.#socket =
      tunnel === undefined
        ? openSocket(end, connected)
        : openTunnel(Client, { proxy: tunnel, server: end }, connected);
  }

  /** Runs before undici gets the socket. */
  #adopt(socket: Socket): void {
    this.#socket = socket;
    // Undici would take a reset for the end of a body without a length.
    socket.on("error", (error) => this.#exchange?.onResponseError(undefined, error));
    // Undici's own pause crashes the program if the connection ends meanwhile. Undici fetches data with `read()`, and
    // Node reads ahead with `read(0)`: while `read()` returns nothing, the socket's buffer fills up and the upstream
    // server waits.
    const read = socket.read.bind(socket);
    socket.read = (size?: number) => {
      if (this.#paused && size === undefined) return null;
      const bytes = read(size) as Buffer | null;
      const exchange = this.#exchange;
      if (bytes === null || exchange === undefined || exchange.came(bytes.length)) return bytes;
      // Deferred, because undici is reading and does not expect to be ended meanwhile.
      process.nextTick(() => exchange.abort(new Error("the head of the response is too long")));
      return null;
    };
  }
}
