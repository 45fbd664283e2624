import { once, setMaxListeners } from "node:events";
import { closeSync } from "node:fs";
import type { AddressInfo, Server, Socket } from "node:net";
import { endsOf } from "../../base/connection-ends.ts";
import { isOwnUsers } from "../host/connection-owner.ts";
import { Gatekeeper, type GatekeeperOptions } from "./gatekeeper.ts";
import { createHttpProxy, httpRefusal } from "./http-proxy.ts";
import { type InspectionMeans, Inspector } from "./inspection/inspector.ts";
import { ExchangeSlots, type ProxyContext, SharedLimit } from "./proxy-context.ts";
import { SOCKS5_NO_METHOD } from "./socks5.ts";
import type { MaskedSecrets } from "./secrets/masked-secrets.ts";
import { createSocksProxy } from "./socks-proxy.ts";

/** Connections of a process to each of its proxies. */
const MAX_CONNECTIONS = 128;
/** Requests and tunnels of a process at once. */
const MAX_EXCHANGES = 128;
/** Time for another user to read why it is refused. */
const LINGER_MS = 1_000;
/** Connections of other users to all proxies that may read it. Further ones are closed at once. */
const lingering = new SharedLimit(16);

export interface NetworkProxyOptions extends GatekeeperOptions {
  readonly socks: boolean;
  /** Sockets of the proxies of all processes. */
  readonly sockets: SharedLimit;
  /** What is hidden from the process, and the means to see where it is needed. */
  readonly hidden?: { readonly secrets: MaskedSecrets; readonly means: InspectionMeans } | undefined;
}

/** Ports of a proxy, as its process sees them. */
export interface ProxyPorts {
  readonly http: number;
  readonly socks: number | undefined;
}

/** The HTTP and SOCKS proxy of one process. It ends, with everything that goes through it, when it is closed. */
export class NetworkProxy {
  readonly #http: Server;
  readonly #socks: Server | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #ended = new AbortController();
  readonly #limit: SharedLimit;
  /** True where every user of the machine can connect. */
  #isShared = false;

  constructor(options: NetworkProxyOptions) {
    // Every exchange listens to it.
    setMaxListeners(0, this.#ended.signal);
    const { hidden } = options;
    const { limited } = options.rules;
    const { signal } = this.#ended;
    const gatekeeper = new Gatekeeper({ ...options, inspects: hidden !== undefined });
    const context: ProxyContext = {
      gatekeeper,
      limited,
      slots: new ExchangeSlots(MAX_EXCHANGES, options.sockets),
      secrets: hidden?.secrets,
      inspector:
        hidden && new Inspector({ ...hidden.means, secrets: hidden.secrets, gatekeeper, limited, signal }),
      signal,
    };
    this.#limit = options.sockets;
    this.#http = this.#guarded(createHttpProxy(context), httpRefusal());
    this.#socks = options.socks ? this.#guarded(createSocksProxy(context), SOCKS5_NO_METHOD) : undefined;
  }

  /**
   * Listens on free ports of this machine's loopback address, for programs of this user and of root. Rejects if the
   * system refuses.
   */
  async listen(): Promise<ProxyPorts> {
    this.#isShared = true;
    try {
      await Promise.all(this.#servers.map(listenOnLoopback));
      return { http: portOf(this.#http), socks: this.#socks && portOf(this.#socks) };
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Accepts on listening sockets that exist already, HTTP first, and owns them from here on. */
  adopt(descriptors: readonly number[]): void {
    if (this.#ended.signal.aborted) for (const fd of descriptors) closeSync(fd);
    else this.#servers.forEach((server, index) => server.listen({ fd: descriptors[index]! }));
  }

  /** Ends every connection at once. */
  close(): void {
    this.#ended.abort();
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  get #servers(): Server[] {
    return this.#socks === undefined ? [this.#http] : [this.#http, this.#socks];
  }

  /** `refusal` is the answer to another user. */
  #guarded(server: Server, refusal: string | Uint8Array): Server {
    const slots = new SharedLimit(MAX_CONNECTIONS);
    // Node's and the proxy's own listeners would read from a connection that is refused.
    const serve = server.listeners("connection");
    server.removeAllListeners("connection");
    server.on("connection", (socket) => {
      // The holder learns of its end through other events, but an error without a listener would end the program.
      socket.on("error", () => {});
      if (this.#ended.signal.aborted) socket.destroy();
      else if (this.#isShared && !isOwn(socket)) turnAway(socket, refusal);
      else if (this.#take(socket, [slots, this.#limit]))
        for (const each of serve) Reflect.apply(each, server, [socket]);
      else socket.destroy();
    });
    // Accepting fails without free descriptors; the next connection is another try.
    server.on("error", () => {});
    return server;
  }

  /** Returns false if there is no room for it. */
  #take(socket: Socket, limits: readonly SharedLimit[]): boolean {
    const taken = limits.filter((limit) => limit.take());
    const free = (): void => {
      for (const limit of taken) limit.free();
    };
    if (taken.length < limits.length) {
      free();
      return false;
    }
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      free();
    });
    return true;
  }
}

/** Says why, and reads on for a moment: an end with unread bytes would be a reset, which the peer may see first. */
function turnAway(socket: Socket, refusal: string | Uint8Array): void {
  if (!lingering.take()) {
    socket.destroy();
    return;
  }
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once("close", () => {
    clearTimeout(timer);
    lingering.free();
  });
  socket.end(refusal);
  socket.resume();
}

function isOwn(socket: Socket): boolean {
  const ends = endsOf(socket);
  return ends !== undefined && isOwnUsers(ends);
}

async function listenOnLoopback(server: Server): Promise<void> {
  server.listen({ host: "127.0.0.1", port: 0, backlog: MAX_CONNECTIONS });
  await once(server, "listening");
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
