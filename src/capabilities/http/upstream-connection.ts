import type { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Dispatcher } from "undici";
import { type Carrier, type Exchange, MAX_HEAD_BYTES } from "./exchange.ts";
import type { Route } from "./route.ts";
import { type Opened, openSocket } from "./socket.ts";
import { openTunnel } from "./tunnel.ts";
import type { UndiciClient, UndiciClientConstructor } from "./undici.ts";

/** Servers mostly give up an idle connection after a minute or more. */
const MAX_IDLE_MS = 90_000;
/** A connection is not used any more when its server is about to close it. */
const MARGIN_MS = 1_000;

/** A connection to an upstream server. It carries one exchange at a time. */
export class UpstreamConnection implements Carrier {
  readonly #client: UndiciClient;
  readonly #ended: (connection: UpstreamConnection) => void;
  /** What is connected, or on the way to it. */
  #socket: { destroy(): void } | undefined;
  #exchange: Exchange | undefined;
  #paused = false;
  #destroyed = false;

  /** `ended` is called once, when the connection is of no more use. */
  constructor(
    Client: UndiciClientConstructor,
    route: Route,
    ended: (connection: UpstreamConnection) => void,
  ) {
    this.#ended = ended;
    // How the server is reached is the matter of `connect` alone, and its name that of each request.
    this.#client = new Client("http://upstream", {
      connect: (_, callback) => this.#connect(Client, route, callback as Opened),
      pipelining: 1,
      maxHeaderSize: MAX_HEAD_BYTES,
      keepAliveTimeout: MAX_IDLE_MS,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      keepAliveTimeoutThreshold: MARGIN_MS,
      // Whoever asks says how long it may take.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    // A request that was not sent yet when its connection ended is sent on another one by undici itself.
    this.#client.on("disconnect", () => {
      if (this.#exchange === undefined) this.destroy();
    });
    // Undici tells so of what its handlers throw. Its types know nothing of it.
    (this.#client as EventEmitter).on("error", () => this.destroy());
  }

  /** Carries an exchange; `release` or `destroy` must follow. */
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

  /** The exchange is over. False when the connection cannot carry another. */
  release(): boolean {
    this.#exchange = undefined;
    this.#paused = false;
    // An answer that came before the request was read leaves a rest of it on the way.
    const isClean = (this.#socket as Socket | undefined)?.writableLength === 0;
    if (!isClean) this.destroy();
    return !this.#destroyed;
  }

  destroy(): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    // Undici waits for a connection that is being made; nobody else does.
    if (!this.#client.destroyed) void this.#client.destroy();
    this.#socket?.destroy();
    this.#ended(this);
  }

  #connect(Client: UndiciClientConstructor, { end, tunnel }: Route, opened: Opened): void {
    const connected: Opened = (error, socket) => {
      if (socket !== null) this.#adopt(socket);
      if (this.#destroyed) socket?.destroy();
      // Undici tries again without end after errors with a code of its own, such as those of a tunnel.
      if (error !== null) opened(new Error(error.message, { cause: error }), null);
      else opened(null, socket);
    };
    this.#socket =
      tunnel === undefined
        ? openSocket(end, connected)
        : openTunnel(Client, { proxy: tunnel, server: end }, connected);
  }

  /** Before undici gets it. */
  #adopt(socket: Socket): void {
    this.#socket = socket;
    // Undici takes a reset for the end of a body without a length.
    socket.on("error", (error) => this.#exchange?.onResponseError(undefined, error));
    // Undici can pause by itself, but ends the program when the connection ends meanwhile. It asks for bytes by `read()`, and Node for more of them by `read(0)`:
    // while nothing is given, the socket's own buffer fills up and the upstream server waits.
    const read = socket.read.bind(socket);
    socket.read = (size?: number) => {
      if (this.#paused && size === undefined) return null;
      const bytes = read(size) as Buffer | null;
      const exchange = this.#exchange;
      if (bytes === null || exchange === undefined || exchange.came(bytes.length)) return bytes;
      // Not now: it is undici that reads, and does not expect to be ended meanwhile.
      process.nextTick(() => exchange.abort(new Error("the head of the response is too long")));
      return null;
    };
  }
}
